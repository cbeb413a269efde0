"""Virtual time: one clock for each device of a cluster, moved on by work and by messages."""

import functools
import math
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from simulator.algorithms.schedules import ALGORITHMS, Schedule
from simulator.base.limits import MOST_RECORDED
from simulator.base.step_records import Step, time_text
from simulator.devices.block_recording import Alike, Recording
from simulator.machines.topology import Cluster
from simulator.predictions.prediction import IN_SWITCH, arrivals, predict_all_reduce, round_by_round, soonest
from simulator.predictions.recording import label_of, link_loads, record
from simulator.recordings.traces import Details, Trace

Array = np.ndarray[Any, Any]
P = ParamSpec("P")
R = TypeVar("R")
_CALLED_SO = ("all_reduce", "all_gather", "permute")  # by what replicas call them; others are part of something else
_MOST_STEPS = 1000  # that are remembered
_MOST_DURATIONS = 256  # that are kept
_MOST_MESSAGES = 4_000_000  # of an exchange that is played one by one; they take seconds


def _alone(method: Callable[Concatenate["Clock", P], R]) -> Callable[Concatenate["Clock", P], R]:
    """Let one thread at a time move the clocks on."""

    @functools.wraps(method)
    def locked(self: "Clock", *args: P.args, **kwargs: P.kwargs) -> R:
        with self.lock:
            return method(self, *args, **kwargs)

    return locked


class Clock:
    """The present time of every device, and what each has done so far."""

    def __init__(self, cluster: Cluster, names: Sequence[str]) -> None:
        assert len(names) == cluster.device_count
        self.cluster, self.names = cluster, tuple(names)
        self.time = np.zeros(cluster.device_count)
        self.computing = np.zeros(cluster.device_count)  # seconds spent
        self.communicating = np.zeros(cluster.device_count)
        self.waiting = np.zeros(cluster.device_count)
        self.overlapping = 0  # how many blocks are open in which devices go on computing while they communicate
        self.next_program_overlaps = False  # whether the program that is being written has such a block
        self._free = np.zeros(cluster.device_count)  # when the last exchange of each device is over
        self.lock = threading.RLock()  # several threads may run programs on one cluster
        self.recordings: list[Recording] = []  # of those who ask for it
        self.whence: Callable[[], tuple[str, str]] = lambda: (
            "",
            "",
        )  # what replicas do together now, and the user's line
        self.program: tuple[str, str] | None = None  # the same for the part of a program that is now charged for
        self.steps: deque[Step] = deque(maxlen=_MOST_STEPS)
        self._steps_taken = 0
        self._running = np.zeros(cluster.device_count, np.int64)  # how many steps each device is in
        self._kept_durations: dict[tuple[Schedule, bytes, float], Array] = {}
        self._chosen: dict[tuple[tuple[int, ...], float, tuple[str, ...]], str] = {}
        self._bandwidth, self._latencies = cluster.bandwidth(), cluster.latencies()

    @property
    def overlaps(self) -> bool:
        """Whether devices go on computing while they communicate."""
        return self.overlapping > 0

    def now(self) -> float:
        """The time of the device that is furthest on."""
        return float(self.time.max())

    @_alone
    def work(self, devices: Sequence[int] | Array, seconds: float, name: str = "compute") -> None:
        """Let devices be busy, each for so long."""
        _require_end(seconds)
        chosen = np.asarray(devices)
        if self.recordings and seconds > 0:
            start = self.time[chosen]
            self._record(self._alike(chosen, start, start + seconds, name, "compute", self._line()))
        self.time[chosen] += seconds
        self.computing[chosen] += seconds

    @contextmanager
    def step(self, devices: Sequence[int]) -> Generator[None]:
        """Count what devices do in a block as one step, unless the block fails."""
        chosen = np.asarray(devices)
        with self.lock:
            # What several threads run at once on a device is all counted, but the spans of it would not nest.
            alone = not self._running[chosen].any()
            self._running[chosen] += 1
            before = self._columns(chosen)
        try:
            yield
        finally:
            with self.lock:
                self._running[chosen] -= 1
        with self.lock:
            after = self._columns(chosen)
            spent = after[1:] - before[1:]
            self._steps_taken += 1
            number, (start, end) = self._steps_taken, (before[0], after[0])
            slowest = self.names[int(chosen[int(spent[0].argmax())])]
            compute, collective, waiting = spent.mean(axis=1).tolist()
            first, last = float(start.min()), float(end.max())
            self.steps.append(Step(number, chosen.size, first, last, compute, collective, waiting, slowest))
            if self.recordings and alone:
                self._record(self._alike(chosen, start, end, f"step {number}", "run", self._line()))

    def _columns(self, chosen: Array) -> Array:
        """The time of devices, and how long each has computed, communicated and waited."""
        return np.stack([self.time, self.computing, self.communicating, self.waiting])[:, chosen]

    def roofline(self, flops: float, size_bytes: float) -> float:
        """The seconds in which a device does so many operations on so many bytes, whichever takes longer."""
        kind = self.cluster.kind
        return max(flops / kind.flops_per_second, size_bytes / kind.memory_bandwidth_bytes_per_second)

    def fastest(self, devices: Sequence[int], payload_bytes: float, among: tuple[str, ...] = tuple(ALGORITHMS)) -> str:
        """The algorithm by which these devices add up so many bytes soonest."""
        key = (tuple(devices), payload_bytes, among)
        if key not in self._chosen:
            found = soonest(self.cluster, payload_bytes, np.asarray(devices), self.host_size(devices), among=among)
            self._chosen[key] = found.algorithm
        return self._chosen[key]

    def host_size(self, devices: Sequence[int]) -> int:
        """How many of the devices each host has; where hosts have different numbers, all devices count as those of one."""
        hosts = np.asarray(devices) // self.cluster.host_size
        size = int(np.argmax(hosts != hosts[0])) or hosts.size
        if hosts.size % size:
            return hosts.size
        grouped = hosts.reshape(-1, size)
        even = bool((grouped == grouped[:, :1]).all()) and np.unique(grouped[:, 0]).size == len(grouped)
        return size if even else hosts.size

    @_alone
    def collective(
        self, schedule: Schedule, devices: Sequence[int], payload_bytes: float, ready: Array | None = None
    ) -> Array:
        """Let devices exchange messages: each begins when it comes, and goes on when its own messages have arrived.

        Args:
            ready: when each of them has what it sends, where that is not now; only for exchanges in the background.
        """
        chosen = np.asarray(devices)
        begin = self._begin(chosen, ready)
        if schedule.transfers == 1:
            done = np.full(chosen.size, begin.max() + self._message(schedule, chosen, payload_bytes))
        elif np.all(begin == begin[0]):
            done = begin + self._durations(schedule, chosen, payload_bytes)
        elif schedule.transfers > _MOST_MESSAGES:
            # As if all began with the last one: nobody ends later than that, and the last one no sooner.
            done = begin.max() + self._durations(schedule, chosen, payload_bytes)
        else:
            done = arrivals(self.cluster, schedule, payload_bytes, chosen, begin)[1]
        if self.recordings:
            self._record_exchange(schedule, chosen, payload_bytes, begin, done)
        return self._exchanged(chosen, begin, done)

    def in_switch(self, devices: Sequence[int], payload_bytes: float, ready: Array | None = None) -> Array:
        """Let the switch add up what devices send, beginning when the last of them is there; all are done at once."""
        seconds = predict_all_reduce(self.cluster, payload_bytes, IN_SWITCH).seconds
        return self.at_once(devices, seconds, IN_SWITCH, payload_bytes, ready)

    @_alone
    def at_once(
        self, devices: Sequence[int], seconds: float, name: str, payload_bytes: float, ready: Array | None = None
    ) -> Array:
        """Let devices exchange something for some time, from when the last of them is there; all are done at once."""
        chosen = np.asarray(devices)
        begin = self._begin(chosen, ready)
        latest = float(begin.max())
        if self.recordings:
            label, about = self._about(name, payload_bytes)
            for part in self._exchange_spans(chosen, begin, np.full(chosen.size, latest + seconds), label, about):
                self._record(part)
        return self._exchanged(chosen, begin, np.full(chosen.size, latest + seconds))

    @_alone
    def wait(self, devices: Sequence[int], until: Array) -> None:
        """Let devices do nothing until some time has come for each of them."""
        chosen = np.asarray(devices)
        if self.recordings:
            self._record(self._alike(chosen, self.time[chosen], until, "wait", "wait", self._line()))
        self.waiting[chosen] += np.maximum(until - self.time[chosen], 0.0)
        self.time[chosen] = np.maximum(self.time[chosen], until)

    def catch_up(self, devices: Sequence[int] | None = None) -> None:
        """Let devices wait for the end of their exchanges: every one where none are named."""
        chosen = range(self.time.size) if devices is None else devices
        self.wait(chosen, self._free[list(chosen)])

    def _record(self, part: Alike | Trace) -> None:
        for recording in self.recordings:
            recording.parts.append(part)

    def _record_exchange(
        self, schedule: Schedule, chosen: Array, payload_bytes: float, begin: Array, done: Array
    ) -> None:
        label, about = self._about(schedule.name, payload_bytes)
        found: dict[bool, Sequence[Alike | Trace]] = {}
        for recording in self.recordings:
            wanted = recording.with_messages(chosen.size)
            if wanted not in found and wanted:
                names = self._exchange_names()
                found[wanted] = [
                    record(
                        self.cluster, schedule, payload_bytes, devices=chosen, begin=begin, done=done, names=names,
                        label=label, about=about,
                    )
                ]  # fmt: skip
            elif wanted not in found:
                carried = self._link_spans(
                    schedule, chosen, payload_bytes, float(begin.max()), float(done.max()), label
                )
                found[wanted] = [*self._exchange_spans(chosen, begin, done, label, about), *carried]
            recording.parts.extend(found[wanted])

    def _exchange_spans(self, chosen: Array, begin: Array, done: Array, label: str, about: Details) -> Iterator[Alike]:
        """An exchange as its devices see it: they wait for the last of them, and then it takes its time."""
        there = np.minimum(np.maximum(float(begin.max()), begin), done)
        names = self._exchange_names()
        last = (("for", names[int(chosen[int(begin.argmax())])]), *about)
        yield self._alike(chosen, begin, there, "wait", "wait", last, names)
        yield self._alike(chosen, there, done, label, "collective", about, names)

    def _link_spans(
        self, schedule: Schedule, chosen: Array, payload_bytes: float, start: float, end: float, label: str
    ) -> Iterator[Alike]:
        """What links carry in an exchange, without the times of single messages."""
        # A round that repeats counts once here: what its links carry is multiplied, and no message is played.
        if sum(one.source.size for one in schedule.rounds) > MOST_RECORDED or end <= start:
            return
        for links, messages, carried in link_loads(self.cluster, schedule, payload_bytes, chosen):
            shares = carried / (end - start) / self._bandwidth[links]
            for share in np.unique(np.round(shares, 4)).tolist():
                own = links[np.round(shares, 4) == share].tolist()
                tracks, count = [f"link {self.cluster.link_name(link)}" for link in own], len(own)
                details = (("messages", messages), ("bytes", carried), ("share of bandwidth", share))
                yield Alike(tracks, [start] * count, [end] * count, label, "collective", details)

    def _alike(
        self,
        chosen: Array,
        start: Array,
        end: Array,
        name: str,
        category: str,
        about: Details,
        names: Sequence[str] = (),
    ) -> Alike:
        called: Sequence[str] = names or self.names
        tracks = [called[int(device)] for device in chosen]
        return Alike(tracks, start.tolist(), end.tolist(), name, category, about)

    def _about(self, algorithm: str, payload_bytes: float) -> tuple[str, Details]:
        """What an exchange is called, and what else is to be said of it."""
        what, line = self.program or self.whence()
        called = what if what.startswith(_CALLED_SO) else ""
        inside = (("in", what),) if what and not called else ()
        about = (("algorithm", algorithm), ("bytes", float(payload_bytes)), *inside, *_lines(line))
        return label_of(algorithm, payload_bytes, called), about

    def _line(self) -> Details:
        return _lines((self.program or self.whence())[1])

    def _begin(self, chosen: Array, ready: Array | None) -> Array:
        # One exchange after the other: what goes on in the background holds up the next one.
        return np.maximum(self.time[chosen] if ready is None else ready, self._free[chosen])

    def _exchanged(self, chosen: Array, begin: Array, done: Array) -> Array:
        _require_end(float(done.max()))
        # A device that is there early waits for the last one; the rest of the time is the exchange itself.
        there = np.minimum(np.maximum(float(begin.max()), begin), done)
        self.communicating[chosen] += done - there
        self._free[chosen] = done
        if not self.overlaps:
            self.waiting[chosen] += there - begin
            self.time[chosen] = done
        return done

    def _message(self, schedule: Schedule, chosen: Array, size_bytes: float) -> float:
        """How long a schedule of one message takes, which shares no link of its route."""
        only = schedule.rounds[0]
        route = self.cluster.routing.routes(chosen[only.source], chosen[only.target])
        links, passes = np.unique(route.links, return_counts=True)
        with np.errstate(over="ignore"):  # the caller refuses what is too large
            slowest = (passes / self._bandwidth[links]).max(initial=0.0)
            return float((passes * self._latencies[links]).sum() + size_bytes * slowest)

    def _durations(self, schedule: Schedule, chosen: Array, payload_bytes: float) -> Array:
        """How long each device takes if all begin at once; kept, because a training loop asks for the same again and again."""
        key = (schedule, chosen.tobytes(), payload_bytes)
        if key not in self._kept_durations:
            if len(self._kept_durations) >= _MOST_DURATIONS:
                self._kept_durations.clear()
            found = round_by_round(self.cluster, schedule, payload_bytes, 0, chosen)
            start = np.zeros(chosen.size)
            self._kept_durations[key] = (
                arrivals(self.cluster, schedule, payload_bytes, chosen, start)[1]
                if found is None
                else start + found.seconds
            )
        return self._kept_durations[key]

    def _exchange_names(self) -> Sequence[str]:
        # What happens in the background has a track of its own beside the device's.
        return [f"{name} exchange" for name in self.names] if self.overlaps else self.names

    def report(self) -> str:
        """How long each device has computed, communicated and waited, as text."""
        width = max(12, *map(len, self.names))
        lines = [f"{'device':{width}} {'time':>12} {'compute':>12} {'collective':>12} {'waiting':>12}"]
        shown = (
            range(len(self.names))
            if len(self.names) <= 16
            else [*range(8), *range(len(self.names) - 8, len(self.names))]
        )
        for place, device in enumerate(shown):
            if place and device != shown[place - 1] + 1:
                lines.append(f"... {len(self.names) - 16} more")
            columns = (self.time, self.computing, self.communicating, self.waiting)
            lines.append(
                f"{self.names[device]:{width}} " + " ".join(f"{time_text(column[device]):>12}" for column in columns)
            )
        return "\n".join(lines)


def _lines(line: str) -> Details:
    return (("line", line),) if line else ()


def _require_end(seconds: float) -> None:
    if not seconds < math.inf:
        raise OverflowError(
            f"A device would be busy for {seconds} seconds; expected a time that a float can hold. Give it less work or fewer "
            f"bytes, or the cluster more speed."
        )
