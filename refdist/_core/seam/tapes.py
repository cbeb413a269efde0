"""The tapes that record what is computed, as the code under them sees them."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from refdist._core.base.later_rooms import ask

if TYPE_CHECKING:
    from refdist._core.variables.variable import Variable


class Tapes(Protocol):
    """All tapes that record at one place, the outermost first."""

    def note(
        self,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        operation: Callable[..., Sequence[Any]] | None,
        backward: Callable[[Sequence[Any]], Sequence[Any]] | None = None,
    ) -> None:
        """Record an operation of JAX, or one whose author says how its gradients are computed."""
        ...

    def read(self, variable: "Variable", value: Any) -> Any:
        """The value of a variable, as an array that the tapes watch, if they watch the variable."""
        ...

    def has_read(self, variable: "Variable", array: Any) -> None:
        """Tell tapes that an array was read from a variable, if they watch it."""
        ...

    def shown(self, variable: "Variable", array: Any) -> None:
        """Tell tapes that an array was handed out in place of a variable, which is watched if the array is to be."""
        ...

    def tensor(self, value: Any) -> Any:
        """A tensor in the form in which tapes record what is done with it: as an array of JAX, where that is possible."""
        ...

    def carried_out(self, function: Callable[[Any], Any], value: Any, backward: Callable[[Any], Any]) -> Any:
        """Apply a function to a nest of tensors without recording how; `backward` takes the gradients of its results."""
        ...


class BodyTape(AbstractContextManager[Any], Protocol):
    """Records all that the body of a function does, so that it can ask for gradients of what it has computed before."""

    def inner(self) -> "BodyTape":
        """A tape for a part of the body, which knows what this one has recorded so far, and tells it nothing."""
        ...

    def hide(self, results: Any) -> None:
        """Remember results of which it was not recorded how they were made."""
        ...

    def alone(self) -> Tapes:
        """This tape without those of the user."""
        ...


class NeedsBodyTape(BaseException):
    """Ends a draft whose body asks for gradients, and was begun without a tape.

    Args:
        sources: tensors from outside of the function, of which it wants to know the gradients.
    """

    def __init__(self, sources: Sequence[Any]) -> None:
        super().__init__()
        self.sources = tuple(sources)


def body_tape(sources: Sequence[Any]) -> BodyTape:
    """A tape for the body of a function, given the tensors from outside that it watches."""
    return ask("body_tape", sources)


def called_under_tapes(function: Any, in_python: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call a function while tapes record.

    Args:
        in_python: calls its body, operation by operation.
    """
    return ask("called_under_tapes", function, in_python, args, kwargs)
