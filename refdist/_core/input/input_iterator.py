"""What v1 programs take their inputs from, and what they configure sessions with."""

import dataclasses
from collections.abc import Iterable
from typing import Any

from refdist._core.base.errors import OutOfRangeError
from refdist._core.replicas.graph import deferred


class InputIterator:
    """Delivers the inputs of one step after another; `initialize` starts it over."""

    def __init__(self, steps: Iterable[Any]) -> None:
        self._steps = steps
        self._iterator = iter(steps)

    def initialize(self) -> Any:
        """Start at the first element; in a graph, as soon as a session runs what this returns."""
        return deferred("initialize", self._start)

    def _start(self) -> None:
        self._iterator = iter(self._steps)

    def get_next(self) -> Any:
        """Return the inputs of the next step, or raise an OutOfRangeError at the end; in a graph, each time a session runs it."""
        return deferred("get_next", self._next)

    def _next(self) -> Any:
        for element in self._iterator:
            return element
        raise OutOfRangeError(
            "The iterator is at its end; expected a further element. Call initialize() to start again."
        )


@dataclasses.dataclass
class _Experimental:
    collective_group_leader: str = ""


@dataclasses.dataclass
class ConfigProto:
    """The few settings of a v1 session that strategies look at."""

    allow_soft_placement: bool = False
    log_device_placement: bool = False
    inter_op_parallelism_threads: int = 0
    intra_op_parallelism_threads: int = 0
    device_filters: list[str] = dataclasses.field(default_factory=list[str])
    experimental: _Experimental = dataclasses.field(default_factory=_Experimental)
