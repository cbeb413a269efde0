"""Operations that choose, order and count elements."""

import builtins
from typing import Any, NamedTuple

import numpy as np

from refdist._core.base.dtypes import numpy_dtype
from refdist._core.base.errors import InvalidArgumentError
from refdist._core.base.jax_facts import is_jax
from refdist._core.ops.computed_with_jax import kernel
from refdist._core.ops.operation import operation
from refdist._core.ops.operation_table import beside, pair, require
from refdist._core.ops.shape_functions import gather, inside, whole
from refdist._core.ops.tensor_functions import cast, convert_to_tensor, fresh, reduce_sum, reduced, sizes_of
from refdist._core.seam.draft import leave_draft_for_shape


@operation
def boolean_mask(tensor: Any, mask: Any, axis: Any = None, name: str = "boolean_mask") -> Any:
    """Take the elements for which a mask is true; it covers the dimensions from an axis on."""
    given, choice = convert_to_tensor(tensor), convert_to_tensor(mask)
    leave_draft_for_shape(
        choice, "boolean_mask() got a mask", "Use tf.where() with zeros, and divide by the number of those chosen."
    )
    before = inside(0 if axis is None else axis, len(given.shape), "boolean_mask")
    if (
        choice.dtype.kind != "b"
        or tuple(given.shape[before : before + choice.ndim]) != tuple(choice.shape)
        or not choice.ndim
    ):
        raise ValueError(
            f"boolean_mask() got a mask of shape {tuple(choice.shape)} and dtype {choice.dtype} for a tensor of shape "
            f"{tuple(given.shape)}; expected truth values of the shape of its dimensions. Reshape one of them."
        )
    return given[(*[slice(None)] * before, np.asarray(choice))]


@operation
def gather_nd(params: Any, indices: Any, batch_dims: int = 0, name: Any = None) -> Any:
    """Take the slices that rows of indices name by their first numbers."""
    tensor, places = convert_to_tensor(params), convert_to_tensor(indices)
    depth = places.shape[-1]
    for number, size in enumerate(tensor.shape[batch_dims : batch_dims + depth]):
        require(
            ((places[..., number] >= 0) & (places[..., number] < size)).all(),
            f"gather_nd() got indices beyond 0 to {size - 1}; expected others. Correct them.",
        )
    batches = [
        np.arange(tensor.shape[number]).reshape([-1 if one == number else 1 for one in builtins.range(places.ndim - 1)])
        for number in builtins.range(batch_dims)
    ]
    return tensor[(*batches, *(places[..., number] for number in builtins.range(depth)))]


@operation
def scatter_nd(indices: Any, updates: Any, shape: Any, name: Any = None) -> Any:
    """Add slices to a tensor of zeros, where rows of indices say."""
    values = convert_to_tensor(updates)
    zeros = values.__array_namespace__().zeros(sizes_of(shape), values.dtype)
    return _scattered(zeros if is_jax(zeros) else fresh(zeros), indices, values, "add", "scatter_nd")


def _scatter(name: str, how: str) -> Any:
    def scatter(tensor: Any, indices: Any, updates: Any, name: Any = None) -> Any:
        given = convert_to_tensor(tensor)
        return _scattered(given, indices, beside(updates, given.dtype), how, label)

    label = scatter.__name__ = scatter.__qualname__ = f"tensor_scatter_nd_{name}"
    scatter.__doc__ = f"Make a tensor that differs from another where rows of indices say, by {name}."
    return operation(scatter)


tensor_scatter_nd_add = _scatter("add", "add")
tensor_scatter_nd_max = _scatter("max", "max")
tensor_scatter_nd_min = _scatter("min", "min")
tensor_scatter_nd_sub = _scatter("sub", "subtract")
tensor_scatter_nd_update = _scatter("update", "set")


@operation
def slice_(input_: Any, begin: Any, size: Any, name: Any = None) -> Any:
    """Take a block of a tensor, given its first element and its size; -1 stands for all that is left."""
    tensor, starts, counts = convert_to_tensor(input_), sizes_of(begin), sizes_of(size)
    ends = [
        total if count == -1 else start + count
        for start, count, total in zip(starts, counts, tensor.shape, strict=True)
    ]
    if any(not 0 <= start <= end <= total for start, end, total in zip(starts, ends, tensor.shape, strict=True)):
        raise InvalidArgumentError(
            f"slice() got begin={starts} and size={counts} for a tensor of shape {tuple(tensor.shape)}; expected a block in it. "
            f"Correct them."
        )
    return tensor[tuple(slice(start, end) for start, end in zip(starts, ends, strict=True))]


@operation
def strided_slice(input_: Any, begin: Any, end: Any, strides: Any = None, name: Any = None) -> Any:
    """Take every so-manieth element of a block of a tensor."""
    tensor, starts, ends = convert_to_tensor(input_), sizes_of(begin), sizes_of(end)
    steps = (1,) * len(starts) if strides is None else sizes_of(strides)
    return tensor[tuple(slice(*three) for three in zip(starts, ends, steps, strict=True))]


@operation
def reverse(tensor: Any, axis: Any, name: Any = None) -> Any:
    """Turn the order along dimensions around."""
    given = convert_to_tensor(tensor)
    return given.__array_namespace__().flip(given, axis=sizes_of(axis))


@operation
def roll(input: Any, shift: Any, axis: Any, name: Any = None) -> Any:
    """Move elements along dimensions, and those beyond the end to the beginning."""
    given, shifts, axes = convert_to_tensor(input), sizes_of(shift), sizes_of(axis)
    if is_jax(given):
        return given.__array_namespace__().roll(given, shifts, axis=axes)
    return given.like(np.roll(np.asarray(given), shifts, axis=axes))  # numpy would assign to a tensor


@operation
def repeat(input: Any, repeats: Any, axis: Any = None, name: Any = None) -> Any:
    """Repeat each element, or each slice along an axis."""
    given, counts = convert_to_tensor(input), np.asarray(repeats)
    return given.__array_namespace__().repeat(given, counts if counts.ndim else int(counts), axis=axis)


@operation
def sort(values: Any, axis: int = -1, direction: str = "ASCENDING", name: Any = None) -> Any:
    """Order elements along an axis."""
    given = convert_to_tensor(values)
    ordered = given.__array_namespace__().sort(given, axis=axis)
    return ordered if _ascending(direction, "sort") else reverse(ordered, [axis])


@operation
def argsort(values: Any, axis: int = -1, direction: str = "ASCENDING", stable: bool = False, name: Any = None) -> Any:
    """Say which order brings elements into order along an axis; equal ones stay as they are."""
    given = convert_to_tensor(values)
    keys = given if _ascending(direction, "argsort") else _descending(given)
    return convert_to_tensor(given.__array_namespace__().argsort(keys, axis=axis, stable=True).astype(np.int32))


class TopKV2(NamedTuple):
    """What `top_k` returns."""

    values: Any
    indices: Any


@operation
def top_k(input: Any, k: Any = 1, sorted: bool = True, index_type: Any = np.int32, name: Any = None) -> TopKV2:
    """The largest elements of each row, and where they are."""
    given, count = convert_to_tensor(input), int(k)
    if not given.shape or given.shape[-1] < count:
        raise InvalidArgumentError(
            f"top_k() got k={count} for a tensor of shape {tuple(given.shape)}; expected rows of at least so many. Use a smaller k."
        )
    order = argsort(given, direction="DESCENDING")[..., :count]
    return TopKV2(given.__array_namespace__().take_along_axis(given, order, axis=-1), cast(order, index_type))


@operation
def in_top_k(targets: Any, predictions: Any, k: Any, name: Any = None) -> Any:
    """Say for each row whether fewer than k elements are larger than the one of its target."""
    scores, places = convert_to_tensor(predictions), convert_to_tensor(targets)
    arrays = scores.__array_namespace__()
    own = arrays.take_along_axis(scores, arrays.expand_dims(places, axis=-1), axis=-1)
    return (scores > own).sum(axis=-1) < int(k)


@operation
def unique(x: Any, out_idx: Any = np.int32, name: Any = None) -> tuple[Any, Any]:
    """The different elements in the order in which they come, and which of them each element is."""
    given = convert_to_tensor(x)
    leave_draft_for_shape(given, "unique() got a tensor", "Call it outside of the function, or in Dataset.map().")
    _, first, inverse = np.unique(np.asarray(given), return_index=True, return_inverse=True)
    order = np.argsort(first, stable=True)
    places = np.argsort(order, stable=True)[inverse]
    return given[first[order]], fresh(places.astype(numpy_dtype(out_idx)))


@operation
def searchsorted(
    sorted_sequence: Any, values: Any, side: str = "left", out_type: Any = np.int32, name: Any = None
) -> Any:
    """Say where values would be inserted into rows that are in order."""
    rows, wanted = pair(sorted_sequence, values, "searchsorted")
    before = rows[..., None, :] < wanted[..., None] if side == "left" else rows[..., None, :] <= wanted[..., None]
    return cast(before.sum(axis=-1), out_type)


@operation
def sequence_mask(lengths: Any, maxlen: Any = None, dtype: Any = np.bool_, name: Any = None) -> Any:
    """Say of each place in a row whether it is within the row's length."""
    given = convert_to_tensor(lengths)
    if maxlen is None:
        leave_draft_for_shape(given, "sequence_mask() got lengths", "Pass maxlen.")
        maxlen = np.asarray(given).max(initial=0)
    return cast(np.arange(int(maxlen), dtype=given.dtype) < given[..., None], dtype)


@operation
def meshgrid(*args: Any, indexing: str = "xy", name: Any = None) -> list[Any]:
    """The coordinates of all points of a grid, one tensor for each dimension."""
    given = [convert_to_tensor(one) for one in args]
    return list(given[0].__array_namespace__().meshgrid(*given, indexing=indexing))


@operation
def bincount(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = np.int32,
    name: Any = None,
    axis: Any = None,
    binary_output: bool = False,
) -> Any:
    """Count how often each integer occurs, or add up its weights."""
    if axis is not None or binary_output:
        raise InvalidArgumentError("bincount() got axis or binary_output; expected neither. Count each row by itself.")
    given = convert_to_tensor(arr).reshape(-1)
    length = _bins(given, minlength, maxlength)
    values = cast(given * 0 + 1, dtype) if weights is None else convert_to_tensor(weights).reshape(-1)
    return reduce_sum(cast(given[:, None] == np.arange(length, dtype=given.dtype), values.dtype) * values[:, None], 0)


@operation
def confusion_matrix(
    labels: Any, predictions: Any, num_classes: Any = None, weights: Any = None, dtype: Any = np.int32, name: Any = None
) -> Any:
    """Count how often each class was predicted for each class."""
    rows, columns = cast(labels, np.int32), cast(predictions, np.int32)
    if num_classes is None:
        leave_draft_for_shape(rows, "confusion_matrix() got labels", "Pass num_classes.")
        leave_draft_for_shape(columns, "confusion_matrix() got predictions", "Pass num_classes.")
        num_classes = max(int(np.asarray(rows).max()), int(np.asarray(columns).max())) + 1
    count = int(num_classes)
    values = cast(rows * 0 + 1 if weights is None else weights, dtype)
    return scatter_nd(rows.__array_namespace__().stack([rows, columns], axis=-1), values, [count, count])


@operation
def histogram_fixed_width(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = np.int32, name: Any = None
) -> Any:
    """Count elements in bins of one width; those beyond the range are in the first or the last."""
    given, limits = convert_to_tensor(values), convert_to_tensor(value_range)
    place = (cast(given, np.float32) - limits[0]) / (limits[1] - limits[0]) * int(nbins)
    arrays = given.__array_namespace__()
    places = arrays.clip(arrays.floor(place), 0, int(nbins) - 1).astype(np.int32)
    return bincount(places, minlength=nbins, maxlength=nbins, dtype=dtype)


def _bins(numbers: Any, least: Any, most: Any) -> int:
    """How many different integers are counted."""
    if least is not None and most is not None and int(least) == int(most):
        return int(most)
    leave_draft_for_shape(numbers, "bincount() got integers", "Pass minlength and maxlength, both the same.")
    highest = int(np.asarray(numbers).max(initial=-1)) + 1
    found = highest if least is None else max(highest, int(least))
    return found if most is None else min(found, int(most))


def _segments(how: str, sorted_ids: bool) -> Any:
    def combine(data: Any, segment_ids: Any, num_segments: Any = None, name: Any = None) -> Any:
        values, segments = convert_to_tensor(data), convert_to_tensor(segment_ids)
        if num_segments is None:
            leave_draft_for_shape(
                segments, f"{label}() got segments", f"Use tf.math.unsorted_{label}() with num_segments."
            )
            known = np.asarray(segments)
            if (known[1:] < known[:-1]).any():
                raise InvalidArgumentError(
                    f"{label}() got segments that are not in order; expected such. Sort the rows."
                )
            num_segments = int(np.asarray(segments).max(initial=-1)) + 1
        if how != "mean":
            return kernel("combined_by_segment", values, segments, count=int(num_segments), how=how)
        options: dict[str, Any] = {"count": int(num_segments), "how": "sum"}
        counts = kernel("combined_by_segment", cast(segments * 0 + 1, values.dtype), segments, **options)
        arrays = counts.__array_namespace__()
        shape = (-1, *[1] * (values.ndim - 1))
        return kernel("combined_by_segment", values, segments, **options) / arrays.maximum(counts, 1).reshape(shape)

    label = f"segment_{how}"
    combine.__name__ = combine.__qualname__ = label if sorted_ids else f"unsorted_{label}"
    combine.__doc__ = f"Combine the rows of one segment by {how}."
    return operation(combine)


segment_max, segment_mean, segment_min, segment_prod, segment_sum = (
    _segments(how, True) for how in ("max", "mean", "min", "prod", "sum")
)
unsorted_segment_max, unsorted_segment_mean, unsorted_segment_min, unsorted_segment_prod, unsorted_segment_sum = (
    _segments(how, False) for how in ("max", "mean", "min", "prod", "sum")
)


def _accumulation(name: str, nothing: int) -> Any:
    def accumulate(x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: Any = None) -> Any:
        tensor = convert_to_tensor(x)
        place, arrays = inside(axis, len(tensor.shape), label), tensor.__array_namespace__()
        given = arrays.flip(tensor, axis=place) if reverse else tensor
        if exclusive:
            first = arrays.full_like(arrays.take(given, np.array([0]), axis=place), nothing)
            rest = given[(*[slice(None)] * place, slice(None, -1))]
            given = arrays.concat([first, rest], axis=place)
        found = getattr(arrays, label)(given, axis=place, dtype=tensor.dtype)
        return arrays.flip(found, axis=place) if reverse else found

    label = accumulate.__name__ = accumulate.__qualname__ = name
    accumulate.__doc__ = f"Apply {name} along an axis."
    return operation(accumulate)


cumprod = _accumulation("cumprod", 1)
cumsum = _accumulation("cumsum", 0)


@operation
def broadcast_to(input: Any, shape: Any, name: Any = None) -> Any:
    """Repeat a tensor so that it has a shape."""
    given = convert_to_tensor(input)
    return given.__array_namespace__().broadcast_to(given, sizes_of(shape))


@operation
def count_nonzero(input: Any, axis: Any = None, keepdims: bool = False, dtype: Any = np.int64, name: Any = None) -> Any:
    """Count the elements that are not zero."""
    given = convert_to_tensor(input)
    return whole((given != 0).sum(axis=reduced(given, axis), keepdims=keepdims), dtype)


@operation
def embedding_lookup(params: Any, ids: Any, max_norm: Any = None, name: Any = None) -> Any:
    """Take the rows of a table."""
    if max_norm is not None:
        raise InvalidArgumentError(
            "embedding_lookup() got max_norm; expected none. Clip the rows with tf.clip_by_norm()."
        )
    return gather(params[0] if isinstance(params, (list, tuple)) and len(params) == 1 else params, ids)


def _scattered(into: Any, indices: Any, updates: Any, how: str, name: str) -> Any:
    places = convert_to_tensor(indices)
    for number, size in enumerate(into.shape[: places.shape[-1]]):
        require(
            ((places[..., number] >= 0) & (places[..., number] < size)).all(),
            f"{name}() got indices beyond 0 to {size - 1}; expected others. Correct them.",
        )
    return kernel("scattered", into, places, updates, how=how)


def _descending(tensor: Any) -> Any:
    """Keys that are in order where a tensor is in the reverse order."""
    return ~tensor if tensor.dtype.kind in "biu" else -tensor


def _ascending(direction: str, name: str) -> bool:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(
            f"{name}() got direction={direction!r}; expected 'ASCENDING' or 'DESCENDING'. Use one of these."
        )
    return direction == "ASCENDING"
