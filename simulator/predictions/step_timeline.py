"""Plays the work of one device: kernels one after the other, and exchanges behind them."""

import dataclasses
import heapq
from collections.abc import Callable, Sequence

from simulator.predictions.step_work import Work

# By how much longer kernels take, on average over models on A100 and H100 (and MI210, MI250), while exchanges run beside them
# (S. Lee and others, "Characterizing Compute-Communication Overlap", arXiv:2507.03114; 40 % at most).
MEASURED_SLOWDOWN = 0.189


@dataclasses.dataclass(frozen=True, slots=True)
class Stretch:
    """What a device does from one time to another."""

    name: str
    kind: str  # compute, exchange, or wait
    start_seconds: float
    end_seconds: float
    size_bytes: float = 0.0
    line: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Exchange:
    """How long an exchange takes, how, and how much of that is its launch."""

    seconds: float
    name: str
    launch_seconds: float = 0.0


@dataclasses.dataclass(frozen=True)
class Timeline:
    """A step of one device."""

    computing: tuple[Stretch, ...]
    exchanging: tuple[Stretch, ...]
    seconds: float
    compute_seconds: float
    exposed_seconds: float  # in which it waits for exchanges
    launch_seconds: float  # of those, and of kernels that are shorter than their launch


def timeline(
    work: Sequence[Work],
    durations: Sequence[float],
    exchange: Callable[[str, float], Exchange],
    *,
    overlap: bool,
    bucket_bytes: float,
    overlap_slowdown: float = 0.0,
) -> Timeline:
    """Play work in its order; what waits for an exchange lets others go before it.

    Args:
        durations: of each piece of work that is no exchange.
        exchange: says how long one of a kind with so many bytes takes.
        overlap: whether exchanges go on while the device computes.
        bucket_bytes: all-reduces that are ready wait until there are so many bytes, and are done together.
        overlap_slowdown: by how much longer a kernel takes while an exchange runs beside it.
    """
    return _Player(work, durations, exchange, overlap, bucket_bytes, overlap_slowdown).played()


class _Player:
    def __init__(
        self,
        work: Sequence[Work],
        durations: Sequence[float],
        exchange: Callable[[str, float], Exchange],
        overlap: bool,
        bucket_bytes: float,
        overlap_slowdown: float,
    ) -> None:
        self.work, self.durations, self.exchange = work, durations, exchange
        self.overlap, self.bucket_bytes, self.slowed = overlap, bucket_bytes, 1 + overlap_slowdown
        self.missing = [len(one.needs) for one in work]
        self.after: list[list[int]] = [[] for _ in work]
        for place, one in enumerate(work):
            for need in one.needs:
                self.after[need].append(place)
        self.ready = [place for place, count in enumerate(self.missing) if count == 0]
        heapq.heapify(self.ready)
        self.now = self.free = 0.0  # of the device, and of its links
        self.bucket: list[int] = []
        self.under_way: list[tuple[float, int, list[int]]] = []  # when exchanges end, and what they bring
        self.computing: list[Stretch] = []
        self.exchanging: list[Stretch] = []
        self.exposed = self.launches = self.computed = 0.0

    def played(self) -> Timeline:
        while self.ready or self.bucket or self.under_way:
            self._deliver()
            if self.ready:
                self._take(heapq.heappop(self.ready))
            elif self.bucket:
                self._flush()
            elif self.under_way:
                self._await(self.under_way[0][0])
        return Timeline(
            tuple(self.computing), tuple(self.exchanging), self.now, self.computed, self.exposed, self.launches
        )

    def _take(self, place: int) -> None:
        one = self.work[place]
        if one.kind == "compute":
            self._compute(one, self.durations[place])
            self._made(place)
            return
        if one.kind != "all_reduce":
            self._send([place], one.kind)
            return
        self.bucket.append(place)
        if sum(self.work[other].moved_bytes for other in self.bucket) >= self.bucket_bytes:
            self._flush()

    def _compute(self, one: Work, seconds: float) -> None:
        if seconds <= 0:
            return
        # Exchanges follow each other without a gap, so that links are busy from now until they are free.
        beside = min(max(self.free - self.now, 0.0), seconds * self.slowed)
        seconds += beside - beside / self.slowed
        start, self.now = self.now, self.now + seconds
        self.computed += seconds
        last = self.computing[-1] if self.computing else None
        if last is not None and last.kind == "compute" and last.end_seconds == start and last.line == one.line:
            self.computing[-1] = dataclasses.replace(last, end_seconds=self.now)
        else:
            self.computing.append(Stretch(one.name, "compute", start, self.now, line=one.line))

    def _flush(self) -> None:
        places, self.bucket = self.bucket, []
        self._send(places, "all_reduce")

    def _send(self, places: list[int], kind: str) -> None:
        size = sum(self.work[place].moved_bytes for place in places)
        found = self.exchange(kind, size)
        start = max(self.now, self.free)
        self.free = start + found.seconds
        self.launches += found.launch_seconds
        line = self.work[places[0]].line
        self.exchanging.append(Stretch(f"{kind} {found.name}", "exchange", start, self.free, size, line))
        heapq.heappush(self.under_way, (self.free, places[0], places))
        if not self.overlap:
            self._await(self.free)

    def _await(self, until: float) -> None:
        if until > self.now:
            self.computing.append(Stretch("wait", "wait", self.now, until))
            self.exposed += until - self.now
            self.now = until
        self._deliver()

    def _deliver(self) -> None:
        while self.under_way and self.under_way[0][0] <= self.now:
            for place in heapq.heappop(self.under_way)[2]:
                self._made(place)

    def _made(self, place: int) -> None:
        for other in self.after[place]:
            self.missing[other] -= 1
            if self.missing[other] == 0:
                heapq.heappush(self.ready, other)
