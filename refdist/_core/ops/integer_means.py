"""The mean of integers as TensorFlow takes it: of a sum in 64 bits, cut off towards zero."""

import math
from typing import Any

import numpy as np

from refdist._core.base.errors import InvalidArgumentError
from refdist._core.base.jax_facts import is_jax
from refdist._core.base.where import HERE

_MOST = 46340  # of whose squares there is a number of 32 bits


def integer_mean(tensor: Any, axis: Any, keepdims: bool) -> Any:
    """Average integers along dimensions that the tensor has, of which none is empty.

    >>> import refdist as tf
    >>> integer_mean(tf.constant([100, 101], tf.int8), None, False)
    <tf.Tensor: shape=(), dtype=int8, numpy=100>
    """
    axes = range(len(tensor.shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    count = math.prod(tensor.shape[one] for one in axes)
    options: dict[str, Any] = {"axis": axis, "keepdims": keepdims}
    sums = np.dtype("uint64" if tensor.dtype.kind == "u" else "int64")
    if (draft := HERE.get().draft) is not None:
        draft.require_wide(sums)
    of_jax = is_jax(tensor)
    if of_jax and tensor.__array_namespace__().result_type(int).itemsize < 8:
        return _in_32_bits(tensor, count, options)
    total: Any = (tensor if of_jax else np.asarray(tensor)).sum(dtype=sums, **options)
    divisor = sums.type(count)
    mean = _cut_off(total // divisor, total % divisor, total < 0).astype(tensor.dtype)
    return mean if of_jax else tensor.like(np.asarray(mean))


def _in_32_bits(tensor: Any, count: int, options: dict[str, Any]) -> Any:
    """The mean where JAX has no 64 bits: that of the quotients, and of what remains of each number."""
    limits, whole = np.iinfo(tensor.dtype), tensor.astype(np.int32 if tensor.dtype.itemsize < 4 else tensor.dtype)
    if max(limits.max, -int(limits.min)) * count < 2**31:
        total = whole.sum(**options)
        return _cut_off(total // count, total % count, total < 0).astype(tensor.dtype)
    if count > _MOST:
        raise InvalidArgumentError(
            f"The mean of {count} numbers of {tensor.dtype} was to be taken; expected at most {_MOST}, because JAX "
            f"works in 32 bits. Convert them with tf.cast(x, tf.float32), or set jax_enable_x64."
        )
    rest = (whole % count).sum(**options)
    floor = (whole // count).sum(**options) + rest // count
    return _cut_off(floor, rest % count, floor < 0).astype(tensor.dtype)


def _cut_off(floor: Any, rest: Any, negative: Any) -> Any:
    return floor + (negative & (rest != 0)).astype(floor.dtype)
