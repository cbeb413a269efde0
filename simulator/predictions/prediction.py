"""How long a collective takes on a cluster: the clock alone, without values."""

import dataclasses
import functools
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from simulator.algorithms.relays import relayed
from simulator.algorithms.schedules import ALGORITHMS, Round, Schedule
from simulator.base.limits import MOST_LINKS, MOST_MESSAGES, TooLarge
from simulator.base.notebook_tables import page, table
from simulator.base.step_records import size_text, time_text
from simulator.libraries.library import Launch, Library
from simulator.libraries.library_times import carried_bytes, estimate
from simulator.loops.compiled import compiled
from simulator.machines.fabric import shape_of
from simulator.machines.routing import Hosts, Star
from simulator.machines.topology import Cluster

Array = np.ndarray[Any, Any]
IN_SWITCH = "in_switch"
_UNWARNED = np.errstate(over="ignore", divide="ignore")  # what is too large for a float is refused at the end


@dataclasses.dataclass(frozen=True)
class Prediction:
    """What a collective costs: seconds, messages, and the bytes that each link carries.

    With a library: also its protocol, and of what the time consists: launch, latency and bytes.
    """

    algorithm: str
    seconds: float
    transfers: int  # 0 with a library, whose messages are not played
    link_bytes: Array = dataclasses.field(repr=False)
    protocol: str = ""
    parts: Mapping[str, float] = dataclasses.field(default_factory=dict[str, float])

    def __post_init__(self) -> None:
        self.link_bytes.flags.writeable = False  # like the other fields

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Prediction) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _repr_html_(self) -> str:
        rows = [("time", time_text(self.seconds))]
        rows += [(f"  {name}", time_text(seconds)) for name, seconds in self.parts.items()]
        rows += [("protocol", self.protocol)] if self.protocol else []
        rows += [("messages", f"{self.transfers:,}")] if self.transfers else []
        rows.append(("on the busiest link", size_text(float(self.link_bytes.max(initial=0.0)))))
        return page(table(f"Collective by {self.algorithm}", [], rows))

    def _key(self) -> tuple[Any, ...]:
        parts = tuple(sorted(self.parts.items()))
        return self.algorithm, self.seconds, self.transfers, self.link_bytes.tobytes(), self.protocol, parts


def predict_all_reduce(
    cluster: Cluster,
    payload_bytes: float,
    algorithm: str = "auto",
    envelope_bytes: float = 0,
    *,
    library: Library | None = None,
    launch: Launch | None = None,
) -> Prediction:
    """Say how long an all-reduce of so many bytes on every device takes.

    An algorithm whose messages are too many to be played is refused before it begins.

    >>> star = Cluster.star(8, bandwidth_bytes_per_second=12.5e9, latency_seconds=500e-9)
    >>> round(predict_all_reduce(star, 4096, "ring").seconds * 1e6, 4)
    14.5734

    Args:
        algorithm: one of ALGORITHMS, or "auto" for the fastest of those that can be played; "in_switch" where the one switch of the
            cluster can add, which "auto" does not assume.
        envelope_bytes: what every message carries beside its payload.
        library: whose algorithms, protocols and latencies count, such as `libraries.nccl("2.27")`; without one, messages are
            played on the links by an algorithm.
        launch: how a library is started.
    """
    require_sizes("predict_all_reduce()", cluster, payload_bytes, envelope_bytes)
    if library is not None:
        if envelope_bytes:
            raise ValueError(
                f"predict_all_reduce() got envelope_bytes={envelope_bytes!r} with a library; expected none, because a library has "
                f"its own. Leave it out."
            )
        wanted = None if algorithm == "auto" else algorithm
        return by_library("all_reduce", cluster, float(payload_bytes), library, launch or Launch(), wanted)
    if launch is not None:
        raise ValueError(
            "predict_all_reduce() got launch= without library=; expected both. Give library=libraries.nccl()."
        )
    payload_bytes, envelope_bytes = float(payload_bytes), float(envelope_bytes)
    if not isinstance(algorithm, str) or algorithm not in ("auto", IN_SWITCH, *ALGORITHMS):
        known = ", ".join([*ALGORITHMS, IN_SWITCH])
        raise ValueError(f"The algorithm is {algorithm!r}; expected auto or one of {known}. Use one of these.")
    if algorithm == "auto":
        everybody = np.arange(cluster.device_count)
        return soonest(cluster, payload_bytes, everybody, cluster.host_size, envelope_bytes)
    if algorithm == IN_SWITCH:
        return in_switch(cluster, payload_bytes, envelope_bytes)
    schedule = ALGORITHMS[algorithm](cluster.device_count, cluster.host_size)
    return played(cluster, schedule, payload_bytes, envelope_bytes)


def by_library(
    kind: str, cluster: Cluster, size: float, library: Library, launch: Launch, algorithm: str | None = None
) -> Prediction:
    """Predict a collective of a library between all devices of a cluster."""
    what = f"predict_{kind}()"
    if not isinstance(library, Library) or not isinstance(launch, Launch):
        raise TypeError(
            f"{what} got library={library!r} and launch={launch!r}; expected a Library and a Launch. Use libraries.nccl() and "
            f"libraries.Launch(gpus_per_process=8)."
        )
    shape = shape_of(cluster, what)
    found = estimate(library, shape, kind, size, launch, algorithm)
    carried = np.zeros(cluster.link_count)
    device, host = carried_bytes(kind, found.algorithm, shape, size)
    carried[: 2 * shape.devices] = device
    carried[2 * shape.devices :] = host
    return Prediction(found.algorithm, found.seconds, 0, carried, found.protocol, found.parts)


def require_sizes(what: str, cluster: Any, payload_bytes: Any, envelope_bytes: Any = 0) -> None:
    """Raise unless a collective is asked of a cluster, for a number of bytes."""
    if not isinstance(cluster, Cluster):
        raise TypeError(
            f"{what} got cluster={cluster!r}; expected a simulator.Cluster. Make one with Cluster.star(...)."
        )
    for name, size in (("payload_bytes", payload_bytes), ("envelope_bytes", envelope_bytes)):
        if not (isinstance(size, (int, float, np.number)) and 0 <= size <= sys.float_info.max):
            raise ValueError(
                f"{what} got {name}={size!r}; expected a number of at least 0 that fits into a float. Give bytes."
            )


def soonest(
    cluster: Cluster,
    payload_bytes: float,
    devices: Array,
    host_size: int,
    envelope_bytes: float = 0,
    among: Sequence[str] = tuple(ALGORITHMS),
) -> Prediction:
    """Predict the algorithm by which devices add up so many bytes soonest, among those that are not too large to play."""
    found: list[Prediction] = []
    refused: list[TooLarge] = []
    for name in among:
        if name == "halving_linear" and devices.size > 256:
            continue  # takes long to play, and is never the fastest between so many devices
        try:
            schedule = ALGORITHMS[name](devices.size, host_size)
            found.append(played(cluster, schedule, payload_bytes, envelope_bytes, devices))
        except TooLarge as error:
            refused.append(error)
    if not found:
        raise refused[0]
    return min(found, key=lambda one: one.seconds)


@_UNWARNED
def in_switch(cluster: Cluster, payload_bytes: float, envelope_bytes: float = 0) -> Prediction:
    """All send to the switch, which adds up what arrives and sends the sum back while the rest is still arriving."""
    one_host = isinstance(cluster.routing, Hosts) and cluster.routing.hosts == 1
    if not one_host and not (isinstance(cluster.routing, Star) and cluster.routing.shared < 0):
        raise ValueError(
            f"in_switch was asked of {cluster!r}; expected a cluster with one switch for all devices. Use Cluster.star, or another "
            f"algorithm."
        )
    links = 2 * cluster.device_count
    carried = np.zeros(cluster.bandwidth().size)
    if cluster.device_count == 1:
        return Prediction(IN_SWITCH, 0.0, 0, carried)
    carried[:links] = payload_bytes + envelope_bytes
    latency = float(cluster.latencies()[0] + cluster.latencies()[links - 1])
    seconds = latency + float((carried[:links] / cluster.bandwidth()[:links]).max())
    return predicted(IN_SWITCH, payload_bytes, seconds, links, carried)


def played(
    cluster: Cluster, schedule: Schedule, payload_bytes: float, envelope_bytes: float = 0, devices: Array | None = None
) -> Prediction:
    """Play a schedule on the clock: round by round where all devices end each round together, else message by message.

    Args:
        devices: which devices of the cluster take part, if not all.
    """
    quick = round_by_round(cluster, schedule, payload_bytes, envelope_bytes, devices)
    if quick is not None:
        return quick
    everybody = np.arange(schedule.devices) if devices is None else devices
    return arrivals(cluster, schedule, payload_bytes, everybody, np.zeros(schedule.devices), envelope_bytes)[0]


def predicted(name: str, payload_bytes: float, seconds: float, transfers: int, carried: Array) -> Prediction:
    """A prediction; one that no float can hold is refused."""
    if not (math.isfinite(seconds) and np.isfinite(carried).all()):
        raise OverflowError(
            f"{name} of {payload_bytes:g} bytes would take or carry more than {sys.float_info.max:g} seconds or bytes; expected "
            f"what a float can hold. Give fewer bytes, or links with less latency and more bandwidth."
        )
    return Prediction(name, seconds, transfers, carried)


@_UNWARNED
def round_by_round(
    cluster: Cluster, schedule: Schedule, payload_bytes: float, envelope_bytes: float, devices: Array | None = None
) -> Prediction | None:
    """Play each round once, however often it repeats; None unless all devices take part in each and end it together."""
    everybody = np.arange(schedule.devices) if devices is None else devices
    start = np.zeros(schedule.devices)
    now, carried, transfers = 0.0, np.zeros(cluster.link_count), 0
    for one in schedule.rounds:
        if one.joined or np.unique(np.concatenate([one.source, one.target])).size < schedule.devices:
            return None
        alone = dataclasses.replace(schedule, rounds=(dataclasses.replace(one, repeat=1),))
        found, ends = arrivals(cluster, alone, payload_bytes, everybody, start, envelope_bytes)
        if ends.min() != ends.max():
            return None
        for _ in range(one.repeat):
            now += float(ends[0])
        carried += found.link_bytes * one.repeat
        transfers += found.transfers * one.repeat
    return predicted(schedule.name, payload_bytes, float(now), transfers, carried)


@_UNWARNED
def arrivals(
    cluster: Cluster,
    schedule: Schedule,
    payload_bytes: float,
    devices: Array,
    begin: Array,
    envelope_bytes: float = 0,
) -> tuple[Prediction, Array]:
    """Play a schedule between devices that begin at different times, and say when each of them is done."""
    ends, carried = relayed(cluster, schedule, payload_bytes, envelope_bytes, devices, begin) or one_by_one(
        cluster, schedule, payload_bytes, envelope_bytes, devices, begin
    )
    seconds = float(ends.max(initial=0.0)) - float(begin.min())
    return predicted(schedule.name, payload_bytes, seconds, schedule.transfers, carried), ends


def by_message(
    cluster: Cluster, schedule: Schedule, payload_bytes: float, envelope_bytes: float, devices: Array | None = None
) -> Prediction:
    """Play every message."""
    everybody, begin = np.arange(schedule.devices) if devices is None else devices, np.zeros(schedule.devices)
    ends, carried = one_by_one(cluster, schedule, payload_bytes, envelope_bytes, everybody, begin)
    return predicted(schedule.name, payload_bytes, float(ends.max(initial=0.0)), schedule.transfers, carried)


@_UNWARNED
def one_by_one(
    cluster: Cluster, schedule: Schedule, payload_bytes: float, envelope_bytes: float, devices: Array, begin: Array
) -> tuple[Array, Array]:
    """Play every message between devices that begin at different times: when each is done, and what each link carried."""
    if schedule.transfers > MOST_MESSAGES:
        raise TooLarge(
            f"{schedule.name} between {schedule.devices:,} devices has {schedule.transfers:,} messages, to be played one by one; "
            f"expected at most {MOST_MESSAGES:,}, which take about a minute. Use an algorithm of fewer messages, such as "
            f"'halving_doubling' or 'hierarchical', or fewer devices."
        )
    messages = moved(messages_of(schedule, schedule.rounds, payload_bytes, envelope_bytes), devices)
    ready = np.zeros(cluster.device_count)
    ready[devices] = begin
    done, carried, count = run_messages(cluster, messages, ready)
    assert count == schedule.transfers, "a schedule in which devices wait for each other without end"
    return done[devices], carried


@dataclasses.dataclass(frozen=True)
class Messages:
    """Messages as arrays: from whom, to whom, how many bytes, and in which round; joined rounds have one number."""

    source: Array
    target: Array
    size: Array
    round: Array
    repeat: Array | None = None  # how often each round happens; None where that is once


def moved(messages: Messages, devices: Array | None) -> Messages:
    """The same messages between other devices."""
    if devices is None:
        return messages
    places = devices.astype(np.int32)
    return dataclasses.replace(messages, source=places[messages.source], target=places[messages.target])


def messages_of(schedule: Schedule, rounds: Sequence[Round], payload_bytes: float, envelope_bytes: float) -> Messages:
    """The messages of some rounds of a schedule; those of a round that repeats stand there once."""
    if not rounds:
        return Messages(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0), np.empty(0, np.int32))
    counts = [one.source.size for one in rounds]
    numbers = np.cumsum([not one.joined for one in rounds], dtype=np.int32) - np.int32(1)
    repeat = np.ones(numbers[-1] + 1, np.int64)
    np.maximum.at(repeat, numbers, [one.repeat for one in rounds])
    assert all(repeat[number] == one.repeat for number, one in zip(numbers, rounds, strict=True)), (
        "a round that repeats is joined with one that does not"
    )
    sizes = [schedule.message_bytes(one, payload_bytes, envelope_bytes) for one in rounds]
    source, target = (np.concatenate([getattr(one, end) for one in rounds]) for end in ("source", "target"))
    return Messages(source, target, np.repeat(sizes, counts), np.repeat(numbers, counts), repeat)


def run_messages(
    cluster: Cluster, messages: Messages, begin: Array, first: Array | None = None, last: Array | None = None
) -> Any:
    """Play messages on the links of a cluster: when each device is done, what each link carried, how many arrived."""
    flows = _flows()
    devices = cluster.device_count
    pairs, pair = np.unique(messages.source.astype(np.int64) * devices + messages.target, return_inverse=True)
    routes = cluster.routing.routes(pairs // devices, pairs % devices)
    bandwidth = cluster.bandwidth()
    narrow = routes.narrowed(bandwidth)
    own, own_round, own_start, most = flows.by_device(messages.source, messages.target, messages.round, devices)
    if most * narrow.hops.max(initial=1) > MOST_LINKS:
        raise TooLarge(
            f"{most:,} messages were to be under way at once over up to {narrow.hops.max():,} links each; expected at most "
            f"{MOST_LINKS:,} links in all. Use an algorithm whose messages go to neighbours, such as 'ring', or fewer devices."
        )
    repeat = np.ones(messages.round.max(initial=0) + 1, np.int64) if messages.repeat is None else messages.repeat
    latency = cluster.latency_of(routes)
    first, last = (np.empty(0) if times is None else times for times in (first, last))
    done, count, left = flows.play(
        messages.source, messages.target, messages.size, pair, own, own_round, own_start, repeat, narrow.start, narrow.links,
        latency, cluster.weights(latency), bandwidth, begin, max(most, 1), first, last,
    )  # fmt: skip
    if left:
        raise OverflowError(
            f"A message of {messages.size.max():g} bytes would arrive after more than {sys.float_info.max:g} seconds; expected a "
            f"time that a float can hold. Give fewer bytes, or links with less latency and more bandwidth."
        )
    sent = np.bincount(pair, messages.size * repeat[messages.round], minlength=pairs.size)
    carried = np.bincount(routes.links, sent[routes.route], minlength=bandwidth.size)
    return done, carried.astype(np.float64), count  # where nothing is counted, numpy returns ints


@functools.cache
def _flows() -> Any:
    return compiled("flows")
