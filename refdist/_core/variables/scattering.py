"""Writing slices of rows into a variable: `scatter_add` and its kin."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.base.where import HERE

Operation = Callable[[Any, Any], Any]

UNCOMBINABLE = frozenset({"scatter_update", "scatter_min", "scatter_max"})
"""The methods for which what several replicas bring cannot be summed or averaged first."""


def _divide(array: Any, indices: Any, values: Any) -> None:
    divisor = np.ones_like(array)
    np.multiply.at(divisor, indices, values)
    array[...] = _quotient(array, divisor)


def _quotient(array: Any, divisor: Any) -> Any:
    """Divide; integers are rounded towards zero, as by TensorFlow, and not down, as by `//`."""
    if array.dtype.kind not in "iu":
        return array / divisor
    rounded = abs(array) // abs(divisor)
    negative = (array < 0) != (divisor < 0)
    return rounded * (1 - 2 * negative.astype(array.dtype))


# What each method does to an array in place, and the method of `array.at[indices]` that does it in a program.
_CHANGES: dict[str, tuple[Callable[[Any, Any, Any], Any], str]] = {
    "scatter_add": (np.add.at, "add"),
    "scatter_sub": (np.subtract.at, "subtract"),
    "scatter_mul": (np.multiply.at, "multiply"),
    "scatter_div": (_divide, "divide"),
    "scatter_min": (np.minimum.at, "min"),
    "scatter_max": (np.maximum.at, "max"),
    "scatter_update": (operator.setitem, "set"),
}


class Scatterable:
    """The methods that write slices at indices of the first dimension, given as `tf.IndexedSlices`."""

    backend: Any
    write: Callable[[str, Operation, Any], Any]

    def scatter_add(self, sparse_delta: IndexedSlices, use_locking: Any = None, name: Any = None) -> Any:
        """Add slices at indices; an index that occurs twice counts twice."""
        return self._scatter("scatter_add", sparse_delta)

    def scatter_sub(self, sparse_delta: IndexedSlices, use_locking: Any = None, name: Any = None) -> Any:
        """Subtract slices at indices."""
        return self._scatter("scatter_sub", sparse_delta)

    def scatter_mul(self, sparse_delta: IndexedSlices, use_locking: Any = None, name: Any = None) -> Any:
        """Multiply by slices at indices."""
        return self._scatter("scatter_mul", sparse_delta)

    def scatter_div(self, sparse_delta: IndexedSlices, use_locking: Any = None, name: Any = None) -> Any:
        """Divide by slices at indices; integers are rounded towards zero."""
        return self._scatter("scatter_div", sparse_delta)

    def scatter_min(self, sparse_delta: IndexedSlices, use_locking: Any = None, name: Any = None) -> Any:
        """Keep the smaller of the value and slices at indices."""
        return self._scatter("scatter_min", sparse_delta)

    def scatter_max(self, sparse_delta: IndexedSlices, use_locking: Any = None, name: Any = None) -> Any:
        """Keep the larger of the value and slices at indices."""
        return self._scatter("scatter_max", sparse_delta)

    def scatter_update(self, sparse_delta: IndexedSlices, use_locking: Any = None, name: Any = None) -> Any:
        """Replace slices at indices."""
        return self._scatter("scatter_update", sparse_delta)

    def _scatter(self, verb: str, slices: IndexedSlices) -> Any:
        backend = self.backend
        change, method = _CHANGES[verb]

        def operation(old: Any, slices: IndexedSlices) -> Any:
            if HERE.get().draft is not None:
                return _in_program(old, slices, method)
            array = backend.get(old)
            change(array, slices.indices, slices.values)
            return backend.put(array, backend.device_of(old))

        return self.write(verb, operation, slices)


def _in_program(old: Any, slices: IndexedSlices, method: str) -> Any:
    # JAX drops indices beyond the end; the program reports them.
    if method == "divide":
        ones = old.__array_namespace__().ones_like(old)
        return _quotient(old, ones.at[slices.indices].multiply(slices.values))
    return getattr(old.at[slices.indices], method)(slices.values)
