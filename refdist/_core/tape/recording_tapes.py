"""The tapes at one place in the code, and what they are told there."""

import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from refdist._core.base import nest
from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.base.jax_facts import is_jax
from refdist._core.base.where import entered
from refdist._core.devices.tensor import Tensor, dtype_name
from refdist._core.replicas.values import Mirrored
from refdist._core.variables.tensors import current_value
from refdist._core.variables.variable import Variable

if TYPE_CHECKING:
    from refdist._core.tape.gradient_tape import GradientTape


def recording() -> Any:
    """The module that knows how JAX computes; it loads JAX, which a program without a tape may not need."""
    return importlib.import_module("refdist._core.compilers.recorded_operations")


class RecordingTapes:
    """All tapes that record at one place, the outermost first."""

    def __init__(self, tapes: "Sequence[GradientTape]") -> None:
        self.tapes = tuple(tapes)

    def note(
        self,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        operation: Callable[..., Sequence[Any]] | None,
        backward: Callable[[Sequence[Any]], Sequence[Any]] | None = None,
    ) -> None:
        for tape in self.tapes:
            tape.recorded.note(inputs, outputs, operation, backward)

    def read(self, variable: Variable, value: Any) -> Any:
        owner = variable if variable.container is None else variable.container
        watching = [tape for tape in self.tapes if tape.watches(owner)]
        if not watching:
            return value
        array = next((array for tape in watching if (array := tape.reading_of(owner, value)) is not None), None)
        if array is None:
            array = recording().as_array(value)
            if array is None:
                raise TypeError(
                    f"The variable {variable.name!r} of dtype {dtype_name(variable.dtype)} was read under a GradientTape; expected "
                    f"numbers that JAX has, because gradients are computed with JAX. Use float32, or set JAX_ENABLE_X64=1 outside."
                )
            if any(tape.recorded.knows(array) for tape in self.tapes):
                array = recording().fresh(
                    array
                )  # it is also the result of something else, and has to be told apart from it
        for tape in watching:
            tape.remember(owner, value, array)
        return array

    def has_read(self, variable: Variable, array: Any) -> None:
        """Tell tapes that a program has read an array from a variable, if they watch it."""
        owner = variable if variable.container is None else variable.container
        for tape in self.tapes:
            if tape.watches(owner):
                tape.remember(owner, array, array)

    def shown(self, variable: Variable, array: Any) -> None:
        owner = variable if variable.container is None else variable.container
        for tape in self.tapes:
            tape.shown[id(array)] = array, owner

    def tensor(self, value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        twin = next((twin for tape in self.tapes if (twin := tape.twin_of(value)) is not None), None)
        if twin is None:
            twin = recording().as_array(value)
        return value if twin is None else twin

    def carried_out(self, function: Callable[[Any], Any], value: Any, backward: Callable[[Any], Any]) -> Any:
        given = nest.map_structure(self._given, value)
        leaves = nest.flatten(given)
        with entered(tapes=None):
            result = function(given)
        if any(isinstance(leaf, IndexedSlices) for leaf in leaves):
            return result  # in TensorFlow, too, no gradient goes through slices
        if not any(tape.recorded.knows(leaf) for tape in self.tapes for leaf in leaves):
            return result
        outputs = nest.map_structure(_fresh, result)

        def gradients(incoming: Sequence[Any]) -> Sequence[Any]:
            return nest.flatten(backward(nest.pack_sequence_as(result, incoming)))

        self.note(leaves, nest.flatten(outputs), None, gradients)
        return outputs

    def _given(self, leaf: Any) -> Any:
        return self.tensor(leaf.nearest() if isinstance(leaf, Mirrored) else current_value(leaf))


def _fresh(leaf: Any) -> Any:
    """A result as an array that no tape knows yet; what JAX has no numbers for stays itself."""
    if is_jax(leaf):
        return recording().fresh(leaf)
    array = recording().as_array(leaf)
    return leaf if array is None else array
