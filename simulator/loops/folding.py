"""Adding arrays one after the other, rounding after each addition: quickly, and always in the same order."""

import functools
import importlib.util
import os
import threading
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

Array = np.ndarray[Any, Any]
Op = Literal["sum", "min", "max"]

_UFUNCS = {"sum": np.add, "min": np.minimum, "max": np.maximum}
# Which kernel folds which dtype, and from how many bytes on, in all arrays together, it is faster than numpy; see benchmarks/.
_WIDE_BYTES, _NARROW_BYTES = 1 << 21, 1 << 18
_KERNELS = {
    **{
        (op, dtype): (f"fold_{op}", _WIDE_BYTES) for op in _UFUNCS for dtype in ("float32", "float64", "int32", "int64")
    },
    **{("sum", dtype): (f"fold_sum_{dtype}", _NARROW_BYTES) for dtype in ("float16", "bfloat16")},
}
# Where numpy folds many bytes it does so in blocks, so that the total stays in the cache.
_BLOCK_BYTES = 1 << 17


def fold(arrays: Sequence[Array], *, op: Op = "sum") -> Array:
    """Add arrays of one shape and dtype in their order, or take the least or greatest of their elements.

    The bits are those of numpy adding one array after the other. Which of two NaNs remains is open for
    float32 and wider, as in numpy.

    >>> fold([np.float32([1, 2]), np.float32([3, 4]), np.float32([5, 6])])
    array([ 9., 12.], dtype=float32)
    >>> fold([np.int8([1, 4]), np.int8([3, 2])], op="max")
    array([3, 4], dtype=int8)
    """
    first = arrays[0]
    if first.ndim == 0:
        return _fold_scalars(arrays, _ufunc(op))
    total = np.empty(first.shape, first.dtype)
    fold_into(total, arrays, op=op)
    return total


def fold_into(total: Array, arrays: Sequence[Array], *, op: Op = "sum") -> None:
    """Fold arrays as `fold` does, into a contiguous array that shares no memory with them.

    Writing into the same total again is faster, because the system clears the pages of a new one first.

    >>> total = np.empty(2)
    >>> fold_into(total, [np.ones(2), np.ones(2)])
    >>> total
    array([2., 2.])
    """
    ufunc, size = _ufunc(op), total.nbytes * len(arrays)
    assert total.flags.c_contiguous
    assert (total.shape, total.dtype) == (arrays[0].shape, arrays[0].dtype)
    if len(arrays) == 1:
        np.copyto(total, np.asarray(arrays[0]))
    elif size < _NARROW_BYTES or not all(_is_plain(array, total) for array in arrays):
        _fold_with_numpy(total, arrays, ufunc)
    else:
        flat = [np.asarray(array).reshape(-1) for array in arrays]
        kernel, kernel_bytes = _KERNELS.get((op, total.dtype.name), ("", size + 1))
        if size < kernel_bytes or _forked or _kernels() is None:
            _fold_in_blocks(total.reshape(-1), flat, ufunc)
        else:
            _fold_with_kernel(total.reshape(-1), flat, kernel)


def _ufunc(op: Op) -> np.ufunc:
    if op not in _UFUNCS:
        raise ValueError(f"fold() got op={op!r}; expected one of {sorted(_UFUNCS)}. Divide a sum for a mean.")
    return _UFUNCS[op]


def _is_plain(array: Array, total: Array) -> bool:
    # A kernel sees only addresses, so an array with another layout than the total is left to numpy.
    same = array.shape == total.shape and array.dtype == total.dtype
    return same and array.dtype.isnative and array.flags.c_contiguous and array.flags.aligned


def _fold_scalars(arrays: Sequence[Array], ufunc: np.ufunc) -> Array:
    dtype = arrays[0].dtype
    stacked = np.array([array.item() for array in arrays], dtype=dtype)
    # accumulate rounds after each addition; sum would add in pairs.
    with np.errstate(all="ignore"):
        return np.asarray(ufunc.accumulate(stacked, dtype=dtype)[-1], dtype=dtype)


def _fold_with_numpy(total: Array, arrays: Sequence[Array], ufunc: np.ufunc) -> None:
    # A device does not warn of an overflow, and neither do the kernels.
    with np.errstate(all="ignore"):
        ufunc(np.asarray(arrays[0]), np.asarray(arrays[1]), out=total)
        for array in arrays[2:]:
            ufunc(total, np.asarray(array), out=total)


def _fold_in_blocks(total: Array, arrays: Sequence[Array], ufunc: np.ufunc) -> None:
    block = max(1, _BLOCK_BYTES // total.itemsize)
    for start in range(0, total.size, block):
        part = slice(start, start + block)
        _fold_with_numpy(total[part], [array[part] for array in arrays], ufunc)


def _fold_with_kernel(total: Array, arrays: Sequence[Array], kernel: str) -> None:
    addresses = np.array([array.__array_interface__["data"][0] for array in arrays], np.uint64)
    bits = total.view(np.uint16) if total.itemsize == 2 else total  # numba has no narrow floats
    with _one_at_a_time:
        getattr(_kernels(), kernel)(bits, addresses)


# Not every threading layer of numba takes calls from several threads, and none survives a fork.
_one_at_a_time = threading.Lock()
_forked: list[bool] = []
os.register_at_fork(after_in_child=lambda: _forked.append(True))


@functools.cache
def _kernels() -> Any:
    # Numba takes half a second to load, so it is loaded by the first large sum. Where it is not installed, numpy adds up the
    # same bits, more slowly.
    return importlib.import_module("simulator.loops.kernels") if importlib.util.find_spec("numba") else None
