"""A program that is being written: what its code sees in place of devices and stored values."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from refdist._core.base.call_sites import Site, own_place
from refdist._core.base.jax_facts import is_tracer
from refdist._core.base.where import HERE

if TYPE_CHECKING:
    from refdist._core.input.position import Loop
    from refdist._core.seam.backend import Backend
    from refdist._core.seam.compiler import Compiler
    from refdist._core.strategies.strategy import StrategyBase
    from refdist._core.strategies.verbs import StrategyExtended
    from refdist._core.variables.variable import Variable


class Draft(Protocol):
    """A program over all replicas of a strategy while it is written, seen from one of them."""

    compiler: "Compiler"
    backend: "Backend"  # its tensors are JAX's tracers, and all of them lie on the replica's own device
    values: dict[Any, Any]  # what variables hold, and what has to hold, at the current point of the program
    entropy: Any  # what random numbers are made from
    conditions: list[Any]  # on which the code at the current point depends
    read_in_parts: "dict[Any, Variable]"  # the variables that branches and loops have read, by the keys of their values
    converting: bool  # whether functions are converted before they are called
    unconverted: list[str]  # the functions that could not be, and why
    recorded: bool  # whether a tape records the body
    summarizes: bool  # whether it has met tf.summary, so that it depends on what is recorded around it

    def refuse(self, error: Exception, about: Any = None) -> None:
        """Remember an error that ends the trace, even if the program catches it.

        Args:
            about: a tensor whose value is not known; the error matters only if it is made from the number of the replica.
        """
        ...

    def in_transformation(self) -> bool:
        """Say whether the code is in a transformation of JAX that was begun in this draft."""
        ...

    def part(
        self, values: dict[Any, Any] | None = None, conditions: Sequence[Any] = ()
    ) -> AbstractContextManager[dict[Any, Any]]:
        """Enter a part of the program that is written by itself, such as a branch: what it writes is kept apart."""
        ...

    def extended(self, strategy: "StrategyBase") -> "StrategyExtended":
        """The verbs of a strategy while the program is written."""
        ...

    def require_wide(self, dtype: Any) -> None:
        """Start over with room for 64 bits, if a dtype needs it and numbers must be exact."""
        ...

    def read(self, variable: "Variable") -> Any:
        """The value that a variable has at this point of the program."""
        ...

    def write(self, variable: "Variable", tensor: Any) -> None:
        """Give a variable another value from here on."""
        ...

    def on_first_replica(self, tensor: Any, others: Any) -> Any:
        """A tensor that the first replica has, where the others have another one."""
        ...

    def require(self, flag: Any, error: type[Exception], text: str) -> None:
        """Make the program end with an error, and without having written anything, if a condition does not hold."""
        ...

    def draw(self, seed: int | None, blocks: int) -> Any:
        """Where random numbers are found: other ones in each run of the program and, without a seed, on each replica."""
        ...

    def next_of(self, loop: "Loop") -> Any:
        """What stands for the next element of an iterator, which each run of the program takes anew."""
        ...

    def create(self, make: Callable[..., Any], kwargs: dict[str, Any]) -> "Variable":
        """Make a variable outside of the program."""
        ...


class StagedRuns(Protocol):
    """Something that runs functions in replicas as compiled programs: a `function`."""

    def run_in_replicas(self, strategy: "StrategyBase", fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Do the work of `strategy.run`."""
        ...


def executing_eagerly() -> bool:
    """Say whether operations happen immediately, as they do outside of `function`.

    >>> import refdist as tf
    >>> tf.executing_eagerly()
    True
    """
    here = HERE.get()
    return here.draft is None and here.function is None and here.graph is None


class NeedsWide(BaseException):
    """Ends a draft that needs 64-bit numbers, and was begun without them."""


class NeedsPython(BaseException):
    """Ends a draft whose body needs something that only Python can do, such as the next batch of a dataset."""


class NeedsShape(NeedsPython):
    """Ends a draft in which a shape depends on values, which a compiled program does not have before it runs.

    Args:
        what: the call that makes such a shape, and what it got.
        remedy: what to write in place of it.
        place: where the call is.
    """

    def __init__(self, what: str, remedy: str, place: Site) -> None:
        super().__init__()
        self.what, self.remedy, self.place = what, remedy, place


class NeedsFirstRun(BaseException):
    """Ends a draft that would make a variable from what the program computes: its first call is made in Python."""


def leave_draft_for_data() -> None:
    """End the draft that the code is in, if it is in one: a batch read now would be frozen into the program."""
    if HERE.get().draft is not None:
        raise NeedsPython


def leave_draft_for_shape(value: Any, what: str, remedy: str) -> None:
    """End the draft that the code is in, if a shape depends on a value that the program computes.

    Args:
        what: the call, and what the value is to it.
        remedy: what to write in place of it.
    """
    if HERE.get().draft is not None and is_tracer(value):
        raise NeedsShape(what, remedy, own_place())
