"""The rarer operations that choose, count and rearrange elements."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from refdist._core.base.dtypes import numpy_dtype
from refdist._core.base.errors import InvalidArgumentError, UnimplementedError
from refdist._core.base.jax_facts import is_tracer
from refdist._core.base.tensor_shape import TensorShape
from refdist._core.ops.operation import operation
from refdist._core.ops.shape_functions import gather
from refdist._core.ops.tensor_functions import cast, concat, convert_to_tensor, fresh, identity
from refdist._core.seam.draft import leave_draft_for_shape


@operation
def histogram_fixed_width_bins(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = np.int32, name: Any = None
) -> Any:
    """The bin, one of several of one width, in which each element is; those beyond the range are in the first or the last."""
    given = convert_to_tensor(values)
    limits = cast(value_range, given.dtype)
    place = (given - limits[0]) / (limits[1] - limits[0]) * np.array(int(nbins), given.dtype)
    arrays = given.__array_namespace__()
    return cast(arrays.clip(arrays.floor(place), 0, int(nbins) - 1), numpy_dtype(dtype))


@operation
def saturate_cast(value: Any, dtype: Any, name: Any = None) -> Any:
    """Change the dtype; what is beyond its range becomes the nearest number in it."""
    given, wanted = convert_to_tensor(value), numpy_dtype(dtype)
    if wanted.kind in "iu":
        limits = np.iinfo(wanted)
        arrays = given.__array_namespace__()
        low, high = _limits(limits, given.dtype)
        return cast(arrays.clip(given, low, high), wanted)
    if wanted.kind == "f" and given.dtype.kind == "f" and wanted.itemsize < given.dtype.itemsize:
        limits = np.finfo(wanted)
        return cast(given.__array_namespace__().clip(given, limits.min, limits.max), wanted)
    return cast(given, wanted)


@operation
def scalar_mul(scalar: Any, x: Any, name: Any = None) -> Any:
    """Multiply a tensor by a number."""
    given = convert_to_tensor(x)
    return given * cast(scalar, given.dtype)


@operation
def invert_permutation(x: Any, name: Any = None) -> Any:
    """The order that undoes another one."""
    given = convert_to_tensor(x)
    return cast(given.__array_namespace__().argsort(given), given.dtype)


@operation
def reverse_sequence(
    input: Any, seq_lengths: Any, seq_axis: Any = None, batch_axis: Any = None, name: Any = None
) -> Any:
    """Reverse the beginning of each row, as long as its length says."""
    given, lengths = convert_to_tensor(input), convert_to_tensor(seq_lengths)
    arrays, along, rows = given.__array_namespace__(), int(seq_axis or 0), int(batch_axis or 0)
    places = np.arange(given.shape[along])[None, :]
    order = arrays.where(places < lengths[:, None], lengths[:, None] - 1 - places, places)
    front = arrays.moveaxis(given, (rows, along), (0, 1))
    order = order.reshape(*order.shape, *[1] * (front.ndim - 2))
    turned = arrays.take_along_axis(front, arrays.broadcast_to(order, front.shape), axis=1)
    return convert_to_tensor(arrays.moveaxis(turned, (0, 1), (rows, along)))


@operation
def unravel_index(indices: Any, dims: Any, name: Any = None) -> Any:
    """The places in all dimensions of elements that are numbered one after the other."""
    given = convert_to_tensor(indices)
    arrays = given.__array_namespace__()
    sizes = tuple(int(size) for size in np.ravel(np.asarray(dims)))
    return cast(arrays.stack(arrays.unravel_index(given, sizes)), given.dtype)


def unique_with_counts(x: Any, out_idx: Any = np.int32, name: Any = None) -> tuple[Any, Any, Any]:
    """The different elements as they come, where each one is among them, and how often."""
    _require_known(x, "unique_with_counts")
    given = np.asarray(convert_to_tensor(x))
    found, first, back, counts = np.unique(given, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)
    wanted = numpy_dtype(out_idx)
    return fresh(found[order]), fresh(np.argsort(order)[back].astype(wanted)), fresh(counts[order].astype(wanted))


def dynamic_partition(data: Any, partitions: Any, num_partitions: int, name: Any = None) -> list[Any]:
    """Put the elements of a tensor into several tensors, as numbers say."""
    _require_known(partitions, "dynamic_partition")
    given, numbers = convert_to_tensor(data), np.asarray(convert_to_tensor(partitions))
    if numbers.size and not 0 <= numbers.min() <= numbers.max() < num_partitions:
        raise InvalidArgumentError(
            f"dynamic_partition() got the numbers {numbers.min()} to {numbers.max()} for {num_partitions} parts; expected numbers "
            f"from 0 to {num_partitions - 1}. Raise num_partitions."
        )
    flat = given.reshape(numbers.size, *given.shape[numbers.ndim :])
    return [gather(flat, np.flatnonzero(numbers.ravel() == part)) for part in range(num_partitions)]


def dynamic_stitch(indices: Sequence[Any], data: Sequence[Any], name: Any = None) -> Any:
    """Put the elements of several tensors into one, at the places that are given; the last one wins."""
    for one in indices:
        _require_known(one, "dynamic_stitch")
    places = [np.asarray(convert_to_tensor(one)) for one in indices]
    parts = [convert_to_tensor(one) for one in data]
    rows = concat([part.reshape(-1, *part.shape[at.ndim :]) for part, at in zip(parts, places, strict=True)], 0)
    flat = np.concatenate([at.ravel() for at in places])
    source = np.zeros(int(flat.max(initial=-1)) + 1, np.int64)
    source[flat] = np.arange(flat.size)
    return gather(rows, source)


def identity_n(input: Sequence[Any], name: Any = None) -> list[Any]:
    """Copy several tensors."""
    return [identity(one) for one in input]


def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """The shape that two tensors have together."""
    return TensorShape(np.broadcast_shapes(tuple(shape_x), tuple(shape_y)))


def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Any:
    """The shape that two tensors have together, as a tensor."""
    return fresh(np.array(np.broadcast_shapes(tuple(map(int, shape_x)), tuple(map(int, shape_y))), np.int32))


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """The value of a tensor if it is known; in a function most are not, and None."""
    return None if is_tracer(tensor) else np.asarray(tensor)


def _limits(limits: Any, dtype: Any) -> tuple[Any, Any]:
    """The limits of a dtype, in another one."""
    if dtype.kind in "iu":
        own = np.iinfo(dtype)
        return max(limits.min, own.min), min(limits.max, own.max)
    high = np.array(limits.max, dtype)
    # A limit that the dtype rounds up, such as 2 ** 31 - 1 in float32, lies outside.
    return np.array(limits.min, dtype), np.nextafter(high, np.array(0, dtype)) if int(high) > limits.max else high


def _require_known(value: Any, name: str) -> None:
    leave_draft_for_shape(value, f"{name}() got a tensor", "Call it outside, or in Dataset.map().")
    if is_tracer(value):
        raise UnimplementedError(
            f"{name}() got a tensor that is not known yet in a trace of JAX; expected a known one, because shapes depend on it. "
            f"Call it outside, or use a mask with tf.where()."
        )
