"""Adding arrays one after the other, rounding after each addition: quickly, and always in the same order."""

import functools
import importlib
import os
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

# Below this many bytes an array is added faster by numpy than by a kernel. Measured in benchmarks/.
_KERNEL_BYTES = 1 << 18
_KERNEL_DTYPES = frozenset(["float32", "float64", "int32", "int64"])


def fold(arrays: Sequence[Array]) -> Array:
    """Add arrays of one shape and dtype in their order.

    >>> fold([np.float32([1, 2]), np.float32([3, 4]), np.float32([5, 6])])
    array([ 9., 12.], dtype=float32)
    """
    first = arrays[0]
    if first.ndim == 0:
        return _fold_scalars(arrays)
    total = np.array(first, copy=True, order="C")  # so that its flat form is no copy
    if first.nbytes < _KERNEL_BYTES or first.dtype.name not in _KERNEL_DTYPES:
        return _fold_plainly(total, arrays[1:])
    return _fold_large(total, arrays[1:])


def _fold_scalars(arrays: Sequence[Array]) -> Array:
    dtype = arrays[0].dtype
    stacked = np.array([array.item() for array in arrays], dtype=dtype)
    # accumulate rounds after each addition; sum would add in pairs.
    return np.asarray(np.add.accumulate(stacked)[-1], dtype=dtype)


def _fold_large(total: Array, rest: Sequence[Array]) -> Array:
    if _forked:
        return _fold_plainly(total, rest)
    kernels = _kernels()
    flat = total.reshape(-1)
    others = [np.ascontiguousarray(array).reshape(-1) for array in rest]
    whole = len(others) - len(others) % 4
    with _one_at_a_time:
        for index in range(0, whole, 4):
            kernels.add_four(flat, *others[index : index + 4])
        for other in others[whole:]:
            kernels.add_one(flat, other)
    return total


def _fold_plainly(total: Array, rest: Sequence[Array]) -> Array:
    for array in rest:
        np.add(total, np.asarray(array), out=total)
    return total


# Not every threading layer of numba takes calls from several threads, and none survives a fork.
_one_at_a_time = threading.Lock()
_forked: list[bool] = []
os.register_at_fork(after_in_child=lambda: _forked.append(True))


@functools.cache
def _kernels() -> Any:
    # Numba takes half a second to load, so it is loaded by the first large sum.
    return importlib.import_module("simulator.kernels")
