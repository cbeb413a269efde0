"""How long a collective takes on a cluster: the clock alone, without values."""

import dataclasses
import functools
import importlib
import math
from typing import Any

import numpy as np

from simulator.schedules import ALGORITHMS, Schedule
from simulator.topology import Cluster, Hosts, Star

Array = np.ndarray[Any, Any]
IN_SWITCH = "in_switch"


@dataclasses.dataclass(frozen=True)
class Prediction:
    """What a collective costs: seconds, messages, and the bytes that each link carries."""

    algorithm: str
    seconds: float
    transfers: int
    link_bytes: Array = dataclasses.field(repr=False)

    def __post_init__(self) -> None:
        self.link_bytes.flags.writeable = False  # as all of it

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Prediction) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self.algorithm, self.seconds, self.transfers, self.link_bytes.tobytes()


def predict_all_reduce(
    cluster: Cluster, payload_bytes: float, algorithm: str = "auto", envelope_bytes: float = 0
) -> Prediction:
    """Say how long an all-reduce of so many bytes on every device takes.

    >>> star = Cluster.star(8, bandwidth_bytes_per_second=12.5e9, latency_seconds=500e-9)
    >>> round(predict_all_reduce(star, 4096, "ring").seconds * 1e6, 4)
    14.5734

    Args:
        algorithm: one of ALGORITHMS, or "auto" for the fastest of them; "in_switch" where the one switch of the cluster
            can add, which "auto" does not assume.
        envelope_bytes: what every message carries beside its payload.
    """
    if not isinstance(cluster, Cluster):
        raise TypeError(
            f"predict_all_reduce() got cluster={cluster!r}; expected a simulator.Cluster. Make one with Cluster.star(...)."
        )
    sizes = (payload_bytes, envelope_bytes)
    if not all(isinstance(size, (int, float, np.number)) and 0 <= size < math.inf for size in sizes):
        raise ValueError(
            f"predict_all_reduce() got payload_bytes={payload_bytes!r} and envelope_bytes={envelope_bytes!r}; expected numbers of "
            f"at least 0. Give bytes."
        )
    if not isinstance(algorithm, str) or algorithm not in ("auto", IN_SWITCH, *ALGORITHMS):
        known = ", ".join([*ALGORITHMS, IN_SWITCH])
        raise ValueError(f"The algorithm is {algorithm!r}; expected auto or one of {known}. Use one of these.")
    if algorithm == "auto":
        names = [name for name in ALGORITHMS if name != "halving_linear" or cluster.device_count <= 256]
        found = [predict_all_reduce(cluster, payload_bytes, name, envelope_bytes) for name in names]
        return min(found, key=lambda one: one.seconds)
    if algorithm == IN_SWITCH:
        return in_switch(cluster, payload_bytes, envelope_bytes)
    schedule = ALGORITHMS[algorithm](cluster.device_count, cluster.host_size)
    return played(cluster, schedule, payload_bytes, envelope_bytes)


def in_switch(cluster: Cluster, payload_bytes: float, envelope_bytes: float = 0) -> Prediction:
    """All send to the switch, which adds what passes through it and sends the sum back while it still comes in."""
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
    return Prediction(IN_SWITCH, seconds, links, carried)


def played(
    cluster: Cluster, schedule: Schedule, payload_bytes: float, envelope_bytes: float = 0, devices: Array | None = None
) -> Prediction:
    """Play a schedule on the clock: round by round where all devices stay in step, else message by message.

    Args:
        devices: which devices of the cluster take part, where these are not all.
    """
    quick = in_step(cluster, schedule, payload_bytes, envelope_bytes, devices)
    return quick if quick is not None else by_message(cluster, schedule, payload_bytes, envelope_bytes, devices)


def in_step(
    cluster: Cluster, schedule: Schedule, payload_bytes: float, envelope_bytes: float, devices: Array | None = None
) -> Prediction | None:
    """Play each round once, where all devices take part in it and end it together; None where they do not."""
    now, carried, transfers = 0.0, np.zeros(cluster.bandwidth().size), 0
    start = np.zeros(cluster.device_count)
    for one in schedule.rounds:
        if one.joined or np.unique(np.concatenate([one.source, one.target])).size < schedule.devices:
            return None
        messages = messages_of(schedule, [dataclasses.replace(one, repeat=1)], payload_bytes, envelope_bytes)
        done, loads, count = run_messages(cluster, moved(messages, devices), start)
        ends = done if devices is None else done[devices]
        if ends.min() != ends.max():
            return None
        for _ in range(one.repeat):
            now += ends[0]
        carried += loads * one.repeat
        transfers += count * one.repeat
    return Prediction(schedule.name, float(now), transfers, carried)


def by_message(
    cluster: Cluster, schedule: Schedule, payload_bytes: float, envelope_bytes: float, devices: Array | None = None
) -> Prediction:
    """Play every message."""
    everybody = np.arange(schedule.devices) if devices is None else devices
    return arrivals(cluster, schedule, payload_bytes, everybody, np.zeros(schedule.devices), envelope_bytes)[0]


def arrivals(
    cluster: Cluster,
    schedule: Schedule,
    payload_bytes: float,
    devices: Array,
    begin: Array,
    envelope_bytes: float = 0,
) -> tuple[Prediction, Array]:
    """Play every message between devices that begin at different times, and say when each of them is done."""
    messages = moved(messages_of(schedule, schedule.rounds, payload_bytes, envelope_bytes), devices)
    ready = np.zeros(cluster.device_count)
    ready[devices] = begin
    done, carried, count = run_messages(cluster, messages, ready)
    assert count == schedule.transfers, "a schedule in which devices wait for each other without end"
    ends = done[devices]
    seconds = float(ends.max(initial=0.0)) - float(begin.min())
    return Prediction(schedule.name, seconds, count, carried), ends


@dataclasses.dataclass(frozen=True)
class Messages:
    """Messages as arrays: who, to whom, how much, and in which step."""

    source: Array
    target: Array
    size: Array
    step: Array


def moved(messages: Messages, devices: Array | None) -> Messages:
    """The same messages between other devices."""
    if devices is None:
        return messages
    places = devices.astype(np.int32)
    return dataclasses.replace(messages, source=places[messages.source], target=places[messages.target])


def messages_of(schedule: Schedule, rounds: Any, payload_bytes: float, envelope_bytes: float) -> Messages:
    """The messages of some rounds of a schedule."""
    sources: list[Array] = []
    targets: list[Array] = []
    sizes: list[Array] = []
    counts: list[int] = []
    steps: list[int] = []
    for one in rounds:
        size = payload_bytes * one.width / schedule.chunks + envelope_bytes
        sources.append(np.tile(one.source, one.repeat))
        targets.append(np.tile(one.target, one.repeat))
        sizes.append(np.full(one.source.size * one.repeat, size))
        counts += [one.source.size] * one.repeat
        last = steps[-1] if steps else -1
        steps += range(last if one.joined else last + 1, last + 1 + one.repeat - one.joined)
    if not counts:
        return Messages(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0), np.empty(0, np.int32))
    step = np.repeat(np.array(steps, np.int32), counts)
    return Messages(np.concatenate(sources), np.concatenate(targets), np.concatenate(sizes), step)


def run_messages(
    cluster: Cluster, messages: Messages, begin: Array, first: Array | None = None, last: Array | None = None
) -> Any:
    """Play messages on the links of a cluster: when each device is done, what each link carried, how many arrived."""
    flows = _flows()
    devices = cluster.device_count
    bandwidth, latencies = cluster.bandwidth(), cluster.latencies()
    pairs, pair = _pairs(messages.source, messages.target, devices)
    table = cluster.routing.routes(pairs // devices, pairs % devices)
    on_way = table >= 0
    start = np.concatenate([[0], np.cumsum(on_way.sum(axis=1))]).astype(np.int64)
    latency = np.where(on_way, latencies[table], 0.0).sum(axis=1) if table.size else np.zeros(pairs.size)
    links = table[on_way].astype(np.int64)
    own, own_step, own_start, most = flows.by_device(messages.source, messages.target, messages.step, devices)
    return flows.play(
        messages.source, messages.target, messages.size, pair, own, own_step, own_start, start, links, latency,
        cluster.weights(latency), bandwidth, begin, max(most, 1), first, last,
    )  # fmt: skip


def _pairs(source: Array, target: Array, devices: int) -> tuple[Array, Array]:
    """The different pairs of devices, and which of them each message has."""
    whole = np.int32 if devices * devices < 2**31 else np.int64  # half as much memory, where it suffices
    key = source.astype(whole) * whole(devices) + target.astype(whole)
    if key.size <= 4 * devices:
        return np.unique(key, return_inverse=True)
    # Rounds repeat, so the pairs of the first ones are mostly all there are.
    pairs = np.unique(key[: 4 * devices])
    at = np.searchsorted(pairs, key)
    if at.max() < pairs.size and np.array_equal(pairs[at], key):
        return pairs, at
    return np.unique(key, return_inverse=True)


@functools.cache
def _flows() -> Any:
    return importlib.import_module("simulator.flows")
