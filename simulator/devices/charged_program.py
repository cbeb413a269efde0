"""What a compiled program costs the devices that run it: room in their memory, and time."""

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.devices.timed import ready_of

if TYPE_CHECKING:
    from simulator.devices.cluster_backend import ClusterBackend


class ChargedProgram:
    """Surrounds each run of a program: it needs room, and moves the clocks on.

    Args:
        overlaps: whether devices go on computing while they exchange, because the program has a block of `overlap()`.
    """

    def __init__(
        self, backend: "ClusterBackend", places: Sequence[int], cost: Any, algorithm: str, overlaps: bool = False
    ) -> None:
        self._overlaps = overlaps
        self._backend, self._clock, self._places, self._cost = backend, backend.clock, places, cost
        gathered = {"all_gather": len(places)}
        self._sizes = [part.size_bytes * gathered.get(part.kind, 1) for part in cost.steps]
        self._schedules = [
            None if part.kind == "compute" else backend.schedule(part.kind, size, places, algorithm)
            for part, size in zip(cost.steps, self._sizes, strict=True)
        ]

    @contextmanager
    def __call__(self, brought: Callable[[], Iterable[Any]]) -> Generator[Any]:
        clock, memory, places = self._clock, self._backend.memory, self._places
        if memory is not None:
            memory.require(places, self._cost.peak_bytes, "a compiled program")
        if clock.overlaps:
            clock.wait(places, np.full(len(places), max(map(ready_of, brought()), default=0.0)))
        with clock.step(places):
            try:
                self._run()
            finally:
                clock.program = None
        with self._backend.unmetered():
            yield None if memory is None else self._keep

    def _run(self) -> None:
        if not self._overlaps:
            self._advance()
            return
        self._clock.overlapping += 1
        try:
            self._advance()
        finally:
            self._clock.overlapping -= 1
            self._clock.catch_up(self._places)

    def _advance(self) -> None:
        """Let the devices compute and exchange what the program says."""
        clock, places = self._clock, self._places
        start = clock.time[places].copy()
        ends: list[Any] = []  # when each part of the program is over on each device
        for part, size, schedule in zip(self._cost.steps, self._sizes, self._schedules, strict=True):
            clock.program = (part.name, part.line)
            ready = np.maximum.reduce([start, *(ends[index] for index in part.needs)])
            if part.kind == "compute":
                if clock.overlaps:
                    clock.wait(places, ready)
                clock.work(places, clock.roofline(part.flops, size), part.name or "program")
                ends.append(clock.time[places].copy())
            else:
                ends.append(self._backend.exchange(schedule, size, places, ready if clock.overlaps else None))

    def _keep(self, array: Any, size: int, homes: Sequence[Any]) -> None:
        """Hold so many bytes of what the program has made on each of its homes."""
        if self._backend.memory is not None:
            self._backend.memory.hold_on_each(array, self._backend.places_of(homes), size, "a compiled program")
