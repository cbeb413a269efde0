"""Recordings where nothing takes time: a journal of what replicas do, as the order of events on each device."""

import dataclasses
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from refdist._core.base import nest
from refdist._core.base.call_sites import Site, call_site
from refdist._core.base.journal import Journal
from refdist._core.base.where import HERE, entered
from refdist._core.devices.device import Device
from refdist._core.staging.eager_functions import functions_run_eagerly, run_functions_eagerly
from refdist._core.testing.recorded_journal import called
from simulator.base.step_records import size_text
from simulator.devices.block_recording import Alike, Recording
from simulator.devices.whence import line_of


@contextmanager
def recorded_order() -> Generator[Recording]:
    """Record the order of events in a block; functions are run in Python, because a program tells nothing of what is in it."""
    recording, before = Recording(timed=False), functions_run_eagerly()
    if not before:
        run_functions_eagerly(True)
    try:
        with entered(journal=_OrderOfEvents(recording.parts, HERE.get().journal)):
            yield recording
    finally:
        if not before:
            run_functions_eagerly(False)


@dataclasses.dataclass
class _Held:
    """A meeting that is held: what has happened in it so far."""

    kind: str
    site: Site
    tracks: Sequence[str]
    events: int = 0
    written: list[str] = dataclasses.field(default_factory=list[str])


class _OrderOfEvents:
    """A journal that numbers what it is told on each device; where devices take part in one event, they wait for each other."""

    def __init__(self, parts: list[Any], outer: Journal | None) -> None:
        self._parts, self._outer = parts, outer
        self._next: Counter[str] = Counter()  # the number of the next event on each track
        self._held: list[_Held] = []
        self._runs: dict[
            str, tuple[list[float], int]
        ] = {}  # of each track, when the events of its last run end, and its place
        self._steps = 0

    def ran(self, strategy: Any, function: Any) -> None:
        tracks, line = _tracks(strategy.extended.worker_devices), line_of(_site())
        self._steps += 1
        starts = [float(self._next[track]) for track in tracks]
        ends = list(starts)  # they move on with the events of the run
        self._runs.update({track: (ends, at) for at, track in enumerate(tracks)})
        self._parts.append(Alike(tracks, starts, ends, f"step {self._steps}", "run", (("line", line),)))
        name = getattr(function, "__name__", type(function).__name__)
        self._event(tracks, name, "compute", [("line", line)], of_run=True)
        if self._outer is not None:
            self._outer.ran(strategy, function)

    def meets(self, kind: str, site: Site) -> None:
        frame = HERE.get().frame
        everybody = [track for track in self._next if not track.startswith("CPU")]
        tracks = everybody if frame is None else _tracks(frame.strategy.extended.worker_devices)
        self._held.append(_Held(kind, site, tracks))
        if self._outer is not None:
            self._outer.meets(kind, site)

    def met(self, payloads: Sequence[Any], answers: Sequence[Any] | None) -> None:
        held = self._held.pop()
        if held.written or not held.events:
            size = _bytes(payloads[0])
            details = [("bytes", size), *(("writes", name) for name in held.written), ("line", line_of(held.site))]
            name = f"{called(held.kind)} {size_text(size)}" if size else called(held.kind)
            self._event(
                held.tracks, name if answers is not None else f"{name} fails", "collective", details, of_run=True
            )
        if self._outer is not None:
            self._outer.met(payloads, answers)

    def combined(self, kind: str, value: Any, result: Any) -> None:
        frame = HERE.get().frame
        if frame is not None:
            size = _bytes(result)
            details = [("bytes", size), ("line", self._line())]
            tracks = _tracks(frame.strategy.extended.worker_devices)
            self._event(tracks, f"{called(kind)} {size_text(size)}", "collective", details, of_run=bool(self._held))
        if self._outer is not None:
            self._outer.combined(kind, value, result)

    def made(self, variable: Any) -> None:
        if self._outer is not None:
            self._outer.made(variable)

    def written(self, variable: Any, verb: str, place: int | None, new: Sequence[Any]) -> None:
        if self._held:
            self._held[-1].written.append(variable.name)
        else:
            copies = variable.all_copies if place is None else (variable.all_copies[place],)
            tracks = _tracks([copy.device for copy in copies])
            inside = (frame := HERE.get().frame) is not None and frame.replica is not None
            self._event(tracks, f"{verb} {variable.name}", "compute", [("line", self._line())], of_run=inside)
        if self._outer is not None:
            self._outer.written(variable, verb, place, new)

    def adopted(self, storages: Sequence[Any]) -> None:
        if self._outer is not None:
            self._outer.adopted(storages)

    def _event(
        self, tracks: Sequence[str], name: str, category: str, details: list[tuple[str, Any]], *, of_run: bool
    ) -> None:
        """Number an event: it is the next one on all of its tracks."""
        now = [float(self._next[track]) for track in tracks]
        number = max(now, default=0.0)
        self._parts.append(Alike(tracks, now, [number] * len(tracks), "wait", "wait"))
        told = tuple((key, value) for key, value in details if value)
        self._parts.append(Alike(tracks, [number] * len(tracks), [number + 1] * len(tracks), name, category, told))
        for track in tracks:
            self._next[track] = int(number) + 1
            if of_run and track in self._runs:
                ends, at = self._runs[track]
                ends[at] = number + 1
        if self._held:
            self._held[-1].events += 1

    def _line(self) -> str:
        """The user's line: that of the replicas, where a meeting does something for them."""
        return line_of(self._held[-1].site if self._held else _site())


def _site() -> Site:
    return call_site(2) + HERE.get().called_from


def _tracks(devices: Sequence[str]) -> list[str]:
    """Short names of devices, each once, with their task where that is another than this program's own."""
    found = [Device(device) for device in devices]
    names = [one.short if one.job in (None, "localhost") else f"{one.job} {one.task} {one.short}" for one in found]
    return list(dict.fromkeys(names))


def _bytes(value: Any) -> int:
    leaves = nest.flatten(value) if nest.is_container(value) else [value]
    return sum(int(getattr(leaf, "nbytes", 0)) for leaf in leaves)
