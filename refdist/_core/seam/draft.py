"""A trace in progress: what code that is being staged sees in place of devices and stored values."""

import contextvars
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from refdist._core.replicas.graph import Graph
    from refdist._core.seam.backend import Backend
    from refdist._core.strategies.extended import StrategyExtended
    from refdist._core.strategies.strategy import StrategyBase
    from refdist._core.variables.variable import Variable


class Stage(Protocol):
    """One trace of a program over all replicas of a strategy, seen from one of them."""

    backend: "Backend"  # its tensors are JAX's tracers, and all of them lie on the replica's own device

    def extended(self, strategy: "StrategyBase") -> "StrategyExtended":
        """The verbs of a strategy for the time of the trace."""
        ...

    def require_wide(self, dtype: Any) -> None:
        """Begin the trace again with room for 64 bits, where a dtype needs it and numbers must be exact."""
        ...

    def read(self, variable: "Variable") -> Any:
        """The value that a variable has at this place of the program."""
        ...

    def write(self, variable: "Variable", tensor: Any) -> None:
        """Let a variable have another value from here on."""
        ...

    def require(self, flag: Any, error: type[Exception], text: str) -> None:
        """Let the program end with an error, and without having written anything, where something does not hold."""
        ...

    def draw(self, shape: tuple[int, ...], low: Any, high: Any, dtype: Any) -> Any:
        """Random numbers, others in each run of the program and on each replica."""
        ...

    def create(self, make: Any, kwargs: dict[str, Any]) -> "Variable":
        """Make a variable outside of the program."""
        ...


class StagedRuns(Protocol):
    """Something that runs functions in replicas as compiled programs: a `function`."""

    def run_in_replicas(self, strategy: "StrategyBase", fn: Any, args: Any, kwargs: Any) -> Any:
        """Do the work of `strategy.run`."""
        ...


# The trace that the code is in, and the function whose body runs in Python while its runs are staged.
STAGE: contextvars.ContextVar[Stage | None] = contextvars.ContextVar("stage", default=None)
GRAPH: "contextvars.ContextVar[Graph | None]" = contextvars.ContextVar("graph", default=None)  # of v1, being built
HOST: contextvars.ContextVar[StagedRuns | None] = contextvars.ContextVar("host", default=None)


def executing_eagerly() -> bool:
    """Say whether operations happen at once: outside of `function`.

    >>> import refdist as tf
    >>> tf.executing_eagerly()
    True
    """
    return STAGE.get() is None and HOST.get() is None and GRAPH.get() is None


class NeedsWide(BaseException):
    """Ends a trace that needs 64-bit numbers, and was begun without them."""


class LoopOnHost(BaseException):
    """Ends a trace whose body needs something that only Python can do, such as the next batch of a dataset."""


def leave_trace_for_data() -> None:
    """End the trace that the code is in, if it is in one: a batch read now would be frozen into the program."""
    if STAGE.get() is not None:
        raise LoopOnHost
