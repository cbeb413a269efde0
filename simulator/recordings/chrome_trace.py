"""Traces in Chrome's trace event format, as Perfetto reads it: https://ui.perfetto.dev.

Perfetto counts whole nanoseconds and drops spans that overlap, so both ends of a span are rounded, never its length:
what touches or nests in seconds does so in the file. The exact length is among the arguments of a span.
"""

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from simulator.recordings.equal_tracks import Row, between_rows

if TYPE_CHECKING:
    from simulator.recordings.traces import Arrow, Span, Trace

_DEVICES, _LINKS = 1, 2  # numbers of processes
# Perfetto takes a thread that has the number of its process for the main one, and 0 for an idle processor.
_FIRST_THREAD = 3

# Of events at one time: what arrives does so in the span that ends, and what is sent is sent in the one that begins.
_ARRIVAL, _SPAN, _SENDING, _AT_ONCE = range(4)


def rendered(trace: "Trace", *, fold: bool = True) -> str:
    """The trace as JSON, one event on a line; equal traces give equal texts."""
    rows, links = trace.rows(fold=fold), set(trace.links)
    threads = {row.tracks[0]: _FIRST_THREAD + at for at, row in enumerate(rows)}
    process = {track: _LINKS if track in links else _DEVICES for track in threads}
    # What has no time has an order: there an event takes a microsecond, the unit of the format.
    whole = _nanoseconds if trace.timed else _whole_events
    timed: list[tuple[tuple[int, int, int], dict[str, Any]]] = []
    for row in rows:
        for span in row.shown():
            start, end = whole(span.start_seconds), whole(span.end_seconds)
            event = _complete(span, start, end, process[span.track], threads[span.track], trace.timed)
            timed.append(((start, _SPAN, start - end), event))
    for number, arrow in enumerate(between_rows(trace.arrows, rows), 1):
        start, end = whole(arrow.start_seconds), whole(arrow.end_seconds)
        # An arrow that takes no nanosecond must begin before it ends, too.
        arrival = _AT_ONCE if start == end else _ARRIVAL
        for order, track, at in ((_SENDING, arrow.source_track, start), (arrival, arrow.target_track, end)):
            event = _flow(arrow, number, order == _SENDING, at, process[track], threads[track])
            timed.append(((at, order, 0), event))
    timed.sort(key=lambda pair: pair[0])
    events = [*_names(threads, process, rows, trace.timed), *(event for _, event in timed)]
    lines = ",\n".join(json.dumps(event, allow_nan=False, separators=(",", ":")) for event in events)
    return f'{{"displayTimeUnit":"ns","traceEvents":[\n{lines}\n]}}\n'


def _names(threads: dict[str, int], process: dict[str, int], rows: Sequence[Row], timed: bool) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    devices = "devices" if timed else "devices (order of events, not time)"
    for number, name in ((_DEVICES, devices), (_LINKS, "links")):
        if number in process.values():
            found.append(_metadata("process_name", number, number, name=name))
            found.append(_metadata("process_sort_index", number, number, sort_index=number))
    for row, (track, thread) in zip(rows, threads.items(), strict=True):
        found.append(_metadata("thread_name", process[track], thread, name=row.name))
        found.append(_metadata("thread_sort_index", process[track], thread, sort_index=thread))
    return found


def _metadata(what: str, process: int, thread: int, **arguments: Any) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": process, "tid": thread, "args": arguments}


def _complete(span: "Span", start: int, end: int, process: int, thread: int, timed: bool) -> dict[str, Any]:
    length = {"seconds": span.end_seconds - span.start_seconds} if timed else {}
    arguments = {**length, **dict(span.details)}
    return {
        "name": span.name, "cat": span.category, "ph": "X", "pid": process, "tid": thread,
        "ts": _microseconds(start), "dur": _microseconds(end - start),
        "args": {name: _plain(value) for name, value in arguments.items()},
    }  # fmt: skip


def _flow(arrow: "Arrow", number: int, sending: bool, at: int, process: int, thread: int) -> dict[str, Any]:
    event = {
        "name": arrow.name, "cat": "message", "ph": "s" if sending else "f", "id": number, "pid": process, "tid": thread,
        "ts": _microseconds(at), "args": {"bytes": _plain(arrow.bytes)},
    }  # fmt: skip
    return event if sending else {**event, "bp": "e"}  # bound to the span around it, not to the next one


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)


def _whole_events(order: float) -> int:
    return round(order * 1000)


def _microseconds(nanoseconds: int) -> float:
    return nanoseconds / 1000


def _plain(value: str | int | float) -> str | int | float:
    # JSON has no infinity; whole numbers of bytes need no point.
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value
