"""The tapes that record what is computed, as the code under them sees them."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

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

    def tensor(self, value: Any) -> Any:
        """A tensor in the form in which tapes record what is done with it: as an array of JAX, where that is possible."""
        ...

    def carried_out(self, function: Callable[[Any], Any], value: Any, backward: Callable[[Any], Any]) -> Any:
        """Apply a function to a nest of tensors without recording how; `backward` takes the gradients of its results."""
        ...
