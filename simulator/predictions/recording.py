"""Traces of collectives: schedules played message by message, with the times of each written down."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from simulator.algorithms.schedules import ALGORITHMS, Schedule
from simulator.base.limits import MOST_RECORDED, TooLarge
from simulator.base.step_records import size_text
from simulator.machines.routing import Explicit
from simulator.machines.topology import Cluster
from simulator.predictions.prediction import (
    IN_SWITCH,
    Messages,
    Prediction,
    messages_of,
    moved,
    predict_all_reduce,
    run_messages,
)
from simulator.recordings.traces import Arrow, Details, Span, Trace

Array = np.ndarray[Any, Any]


def trace_all_reduce(cluster: Cluster, payload_bytes: float, algorithm: str, envelope_bytes: float = 0) -> Trace:
    """Say what each device and each link does during an all-reduce of so many bytes on every device.

    >>> star = Cluster.star(4, bandwidth_bytes_per_second=12.5e9, latency_seconds=500e-9)
    >>> trace_all_reduce(star, 4096, "ring")
    <Trace of 76 spans and 24 arrows on 12 tracks>

    Args:
        algorithm: one of ALGORITHMS, or "auto" for the fastest of them; or "in_switch".
        envelope_bytes: what every message carries beside its payload.
    """
    # The prediction refuses wrong arguments, and chooses the fastest.
    predicted = predict_all_reduce(cluster, payload_bytes, algorithm, envelope_bytes)
    algorithm = predicted.algorithm
    if algorithm == IN_SWITCH:
        return _in_switch(cluster, predicted, payload_bytes)
    return record(
        cluster, ALGORITHMS[algorithm](cluster.device_count, cluster.host_size), payload_bytes, envelope_bytes
    )


def _in_switch(cluster: Cluster, predicted: Prediction, payload_bytes: float) -> Trace:
    """All devices and links at once; there are no arrows, because no device sends to another one."""
    end, latencies = predicted.seconds, cluster.latencies()
    about = (("algorithm", IN_SWITCH), ("bytes", float(payload_bytes)))
    label = label_of(IN_SWITCH, payload_bytes)
    devices = [Span(name, label, 0.0, end, "collective", about) for name in _names(cluster)]
    used = np.flatnonzero(predicted.link_bytes).tolist()
    latency = float(latencies[used[0]] + latencies[used[-1]]) if used else 0.0  # one link up, and one down
    links = [
        Span(
            f"link {cluster.link_name(link)}",
            IN_SWITCH,
            latency,
            end,
            "collective",
            (("bytes", predicted.link_bytes[link]),),
        )
        for link in used
    ]
    return Trace((*(devices if used else ()), *links))


def record(
    cluster: Cluster,
    schedule: Schedule,
    payload_bytes: float,
    envelope_bytes: float = 0,
    *,
    devices: Array | None = None,
    begin: Array | None = None,
    done: Array | None = None,
    names: Sequence[str] = (),
    label: str = "",
    about: Details = (),
) -> Trace:
    """Play a schedule, and write down what each device and each link does.

    Args:
        devices: which devices of the cluster take part, if not all.
        begin: when each of these begins, in seconds; by default all begin at 0.
        done: when each of these is done, if the caller has computed these times in another way.
        names: what each device of the cluster is called; by default its kind and number.
        label: what the exchange is called; by default its kind, bytes and algorithm.
        about: what is to be said about it; by default its algorithm and bytes.
    """
    everybody = np.arange(schedule.devices) if devices is None else devices
    ready = np.zeros(cluster.device_count)
    ready[everybody] = 0.0 if begin is None else begin
    if schedule.transfers > MOST_RECORDED:
        raise TooLarge(
            f"{schedule.name} between {schedule.devices:,} devices was to be recorded, which has {schedule.transfers:,} messages; "
            f"expected at most {MOST_RECORDED:,}, whose spans fit into memory. Record fewer devices, or use predict_all_reduce()."
        )
    messages = moved(messages_of(schedule, schedule.unrolled(), payload_bytes, envelope_bytes), everybody)
    first, last = np.zeros(messages.size.size), np.zeros(messages.size.size)
    run_messages(cluster, messages, ready, first, last)
    ends = np.zeros(cluster.device_count)
    np.maximum.at(ends, messages.source, last)
    np.maximum.at(ends, messages.target, last)
    if done is not None:
        # The last digits may differ, and then spans of one track would overlap.
        ends[everybody] = done
        last = np.minimum(last, np.minimum(ends[messages.source], ends[messages.target]))
        first = np.minimum(first, last)
    label = label or label_of(schedule.name, payload_bytes)
    about = about or (("algorithm", schedule.name), ("bytes", float(payload_bytes)))
    played = _Played(cluster, schedule.name, label, about, messages, ready, ends, first, last, names or _names(cluster))
    return Trace((*played.device_spans(), *played.link_spans()), tuple(played.arrows()))


@dataclasses.dataclass(frozen=True)
class _Played:
    """Messages that were played, and when each was sent and had arrived."""

    cluster: Cluster
    algorithm: str
    label: str
    about: Details
    messages: Messages
    begin: Array  # of each device
    end: Array
    first: Array
    last: Array
    names: Sequence[str]  # of each device

    def device_spans(self) -> Iterator[Span]:
        """The spans of each device, in the order of time."""
        source, target, number = self.messages.source, self.messages.target, self.messages.round
        own: dict[int, dict[int, list[int]]] = {}  # of each device, its messages in each round
        for message in range(source.size):
            for device in (int(source[message]), int(target[message])):
                own.setdefault(device, {}).setdefault(int(number[message]), []).append(message)
        for device, rounds in sorted(own.items()):
            now = float(self.begin[device])
            yield Span(self.names[device], self.label, now, float(self.end[device]), "step", self.about)
            for number, messages in rounds.items():
                yield from self._round(device, number, messages, now)
                now = max(float(self.last[message]) for message in messages)

    def _round(self, device: int, number: int, messages: list[int], now: float) -> Iterator[Span]:
        """Exchange the messages of a round, and wait wherever none of them is under way."""
        track = self.names[device]
        for start, end, group in _overlapping(messages, self.first, self.last):
            if start > now:
                other = int(self.messages.source[group[0]]) + int(self.messages.target[group[0]]) - device
                yield Span(track, "wait", now, start, "wait", (("for", self.names[other]), ("round", number + 1)))
            sent = sum(float(self.messages.size[one]) for one in group if self.messages.source[one] == device)
            got = sum(float(self.messages.size[one]) for one in group if self.messages.target[one] == device)
            about = (("round", number + 1), ("bytes sent", sent), ("bytes received", got))
            yield Span(track, self.name(group[0]), start, end, "collective", about)
            now = end

    def link_spans(self) -> Iterator[Span]:
        """The spans of each link that is used: messages flow through it, at once where they share it."""
        routes, bandwidth = (
            self.cluster.routing.routes(self.messages.source, self.messages.target),
            self.cluster.bandwidth(),
        )
        # The latency of the whole route passes first; then a message flows through all of its links at once.
        flowing = np.minimum(self.first + self.cluster.latency_of(routes), self.last)
        users: dict[int, list[int]] = {}
        for message, link in zip(routes.route.tolist(), routes.links.tolist(), strict=True):
            users.setdefault(link, []).append(message)
        for link, messages in sorted(users.items()):
            for start, end, group in _overlapping(messages, flowing, self.last):
                carried = sum(float(self.messages.size[message]) for message in group)
                used = carried / (end - start) / float(bandwidth[link]) if end > start else 0.0
                name = self.name(group[0]) if len(group) == 1 else f"{len(group)} messages"
                about = (("messages", len(group)), ("bytes", carried), ("share of bandwidth", round(used, 4)))
                yield Span(f"link {self.cluster.link_name(link)}", name, start, end, "collective", about)

    def arrows(self) -> Iterator[Arrow]:
        """One for each message."""
        for message in range(self.first.size):
            source, target = (int(ends[message]) for ends in (self.messages.source, self.messages.target))
            start, end = float(self.first[message]), float(self.last[message])
            size = float(self.messages.size[message])
            yield Arrow(self.name(message), self.names[source], self.names[target], start, end, size)

    def name(self, message: int) -> str:
        """The algorithm and the round, counted from 1."""
        return f"{self.algorithm} {int(self.messages.round[message]) + 1}"


def label_of(algorithm: str, payload_bytes: float, what: str = "") -> str:
    """What an exchange is called: what it does, how many bytes it is about, and the algorithm.

    >>> label_of("ring", 4.2e6, "all_reduce SUM"), label_of("all_gather", 4096)
    ('all_reduce SUM 4.20 MB, ring', 'all_gather 4.10 kB')
    """
    kind = "all_reduce" if algorithm in (*ALGORITHMS, IN_SWITCH) else algorithm
    text = f"{what or kind} {size_text(payload_bytes)}"
    return text if algorithm == kind else f"{text}, {algorithm}"


def link_loads(
    cluster: Cluster, schedule: Schedule, payload_bytes: float, devices: Array
) -> Iterator[tuple[Array, int, float]]:
    """The links that an exchange uses, those together that carry the same, with the messages and bytes that each carries."""
    messages = moved(messages_of(schedule, schedule.rounds, payload_bytes, 0), devices)
    routes = cluster.routing.routes(messages.source, messages.target)
    times = np.ones(messages.size.size) if messages.repeat is None else messages.repeat[messages.round]
    count = np.bincount(routes.links, times[routes.route], cluster.link_count)
    carried = np.bincount(routes.links, (times * messages.size)[routes.route], cluster.link_count)
    used = np.flatnonzero(count)
    # Sums in another order may differ in their last digits.
    loads = np.stack([count, np.array([float(f"{one:.9g}") for one in carried])])[:, used]
    for load in np.unique(loads, axis=1).T if used.size else ():
        yield used[(loads == load[:, None]).all(axis=0)], int(load[0]), float(load[1])


def joined(spans: Sequence[Span], arrows: Sequence[Arrow] = (), *, timed: bool = True) -> Trace:
    """One trace of all of them; what different exchanges send through a link at once is one span of it."""
    links: dict[str, list[Span]] = {}
    for span in spans:
        if span.track.startswith("link "):
            links.setdefault(span.track, []).append(span)
    shared = {track: list(_joined_where_they_overlap(own)) for track, own in links.items()}
    own = (span for span in spans if span.track not in links)
    return Trace((*own, *(span for track in shared.values() for span in track)), tuple(arrows), timed)


def _joined_where_they_overlap(spans: Sequence[Span]) -> Iterator[Span]:
    """Spans of a link, with those that overlap joined into one."""
    first, last = (np.array([getattr(span, name) for span in spans]) for name in ("start_seconds", "end_seconds"))
    for start, end, group in _overlapping(list(range(len(spans))), first, last):
        if len(group) == 1:
            yield spans[group[0]]
            continue
        details = [dict(spans[one].details) for one in group]
        count, carried = (sum(float(one[name]) for one in details) for name in ("messages", "bytes"))
        # Each span says how much of the bandwidth it had while it lasted.
        used = sum(
            float(one["share of bandwidth"]) * float(last[at] - first[at])
            for at, one in zip(group, details, strict=True)
        )
        about = (
            ("messages", int(count)),
            ("bytes", carried),
            ("share of bandwidth", round(used / (end - start), 4) if end > start else 0.0),
        )
        yield Span(spans[group[0]].track, f"{int(count)} messages", start, end, "collective", about)


def _names(cluster: Cluster) -> Sequence[str]:
    """The names of devices: their own, or else their kind and number."""
    if isinstance(cluster.routing, Explicit):
        return cluster.routing.devices
    return [f"{cluster.kind.name} {number}" for number in range(cluster.device_count)]


def _overlapping(messages: list[int], first: Array, last: Array) -> Iterator[tuple[float, float, list[int]]]:
    """Groups of messages that are under way at once, in the order of time, each with its beginning and end."""
    group: list[int] = []
    start = end = 0.0
    for message in sorted(messages, key=lambda one: (float(first[one]), float(last[one]), one)):
        if group and float(first[message]) >= end:
            yield start, end, group
            group = []
        start = start if group else float(first[message])
        end = max(end, float(last[message])) if group else float(last[message])
        group.append(message)
    if group:
        yield start, end, group
