"""Workers that share a cluster: the devices that each of them has, and the exchanges of them all."""

import dataclasses
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class SharedExchanges:
    """The exchanges in which all workers of one run take part, each of which moves the clocks of all devices once.

    All workers come to the same exchanges, one worker at a time. The first to come to an exchange moves the clocks; the
    others read when it was over.

    >>> exchanges = SharedExchanges(workers=2)
    >>> exchanges.join(0, lambda: np.array([1.5]))
    array([1.5])
    >>> exchanges.join(1, lambda: np.array([9.9]))
    array([1.5])
    """

    def __init__(self, workers: int) -> None:
        # For each worker, the ends of the exchanges that others have come to before it, the oldest first.
        self._ends: list[deque[Array]] = [deque() for _ in range(workers)]

    @property
    def workers(self) -> int:
        """How many workers take part."""
        return len(self._ends)

    def join(self, worker: int, move_clocks: Callable[[], Array]) -> Array:
        """Take part in the worker's next exchange, and say when it is over on each device."""
        if self._ends[worker]:
            return self._ends[worker].popleft()
        ends = move_clocks()
        for other, waiting in enumerate(self._ends):
            if other != worker:
                waiting.append(ends)
        return ends


@dataclasses.dataclass(frozen=True)
class WorkerShare:
    """The places in a cluster of one worker's devices, and the exchanges that it has with the other workers."""

    worker: int
    places: range
    exchanges: SharedExchanges

    @classmethod
    def whole(cls, devices: int) -> "WorkerShare":
        """The share of a worker that has all devices to itself."""
        return cls(0, range(devices), SharedExchanges(workers=1))

    def reaches_others(self, places: Sequence[int]) -> bool:
        """Say whether devices of other workers are among some places."""
        return self.exchanges.workers > 1 and any(place not in self.places for place in places)
