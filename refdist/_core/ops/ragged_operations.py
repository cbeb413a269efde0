"""What operations do with ragged and sparse tensors: reductions, rearranging, and what works on each element."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from refdist._core.base.errors import UnimplementedError
from refdist._core.ops import index_functions, ragged_rearranging
from refdist._core.ops.ragged_tensor import RaggedTensor, element_wise
from refdist._core.ops.shape_functions import reshape, where
from refdist._core.ops.sparse_tensor import SparseTensor
from refdist._core.ops.tensor_functions import cast, fresh

Function = Callable[..., Any]


def carried_out(function: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Carry out an operation some arguments of which are ragged or sparse, as far as there is a way; else it says what to do."""
    name = function.__name__
    if name in _COMBINED:
        return _reduced(function, *args, **kwargs)
    if name in _OTHERS:
        return _OTHERS[name](*args, **kwargs)
    if isinstance(args[0] if args else None, SparseTensor) and name in ("cast", "identity"):
        return args[0].with_values(function(args[0].values, *args[1:], **kwargs))
    return (element_wise if name in _EACH.split() else _directly)(function, *args, **kwargs)


def _directly(function: Function, *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


def _reduced(function: Function, input_tensor: Any, axis: Any = None, keepdims: bool = False, name: Any = None) -> Any:
    """Reduce all elements, or those along axes, the innermost of them first."""
    if not isinstance(input_tensor, RaggedTensor):
        return function(input_tensor, axis, keepdims)
    rank = len(input_tensor.shape)
    if axis is None:
        whole = function(input_tensor.flat_values)
        return reshape(whole, [1] * rank) if keepdims else whole
    axes = sorted({int(one) % rank for one in np.atleast_1d(np.asarray(axis)).tolist()}, reverse=True)
    if len(axes) > 1 and function.__name__ == "reduce_mean":
        raise UnimplementedError(
            f"reduce_mean() of a RaggedTensor got the axes {axis}; expected one, or None, because rows differ in length. Divide "
            f"tf.reduce_sum() of it by that of tf.ones_like()."
        )
    found = input_tensor
    for one in axes:
        found = _along(function, found, one, keepdims)
    return found


def _along(function: Function, given: Any, axis: int, keepdims: bool) -> Any:
    if not isinstance(given, RaggedTensor):
        return function(given, axis, keepdims)
    if axis > 1:
        return given.with_values(_along(function, given.values, axis - 1, keepdims))
    if axis == 1 and not isinstance(given.values, RaggedTensor):
        made = _COMBINED[function.__name__](given.values, np.asarray(given.value_rowids()), len(given))
        return reshape(made, [len(given), 1, *made.shape[1:]]) if keepdims else made
    if given.ragged_rank > axis + 1 or keepdims:
        raise UnimplementedError(
            f"{function.__name__}() got a RaggedTensor of shape {given.shape}, axis={axis} and keepdims={keepdims}; expected an "
            f"axis further inside, and no keepdims here. Use to_tensor()."
        )
    return _of_columns(function, given, axis)


def _of_columns(function: Function, given: RaggedTensor, axis: int) -> Any:
    """Reduce the elements that stand at one place of the innermost rows: of all rows, or of those within one row outside."""
    rows = given.values if axis else given
    splits = np.asarray(rows.row_splits)
    lengths = np.diff(splits)
    outer = np.asarray(given.value_rowids()) if axis else np.zeros(len(rows), np.int64)
    widths = np.zeros(len(given) if axis else 1, np.int64)
    np.maximum.at(widths, outer, lengths)
    starts = np.concatenate([[0], np.cumsum(widths)])
    places = np.arange(splits[-1]) - np.repeat(splits[:-1], lengths) + np.repeat(starts[outer], lengths)
    made = _COMBINED[function.__name__](rows.values, places, int(starts[-1]))
    return RaggedTensor(made, starts) if axis else made


def _mean(values: Any, segments: Any, count: int) -> Any:
    total = index_functions.unsorted_segment_sum(values, segments, count)
    counts = np.bincount(segments, minlength=count).reshape(-1, *[1] * (len(total.shape) - 1))
    with np.errstate(all="ignore"):  # the mean of nothing is nan, without a word
        if total.dtype.kind in "iu":
            return total // np.maximum(counts, 1).astype(total.dtype)
        return total / fresh(counts.astype(total.dtype))


def _extreme(combine: Function, none: str, values: Any, segments: Any, count: int) -> Any:
    """The largest or smallest; of nothing, the last number there is."""
    made = combine(values, segments, count)
    if made.dtype.kind != "f":
        return made
    empty = (np.bincount(segments, minlength=count) == 0).reshape(-1, *[1] * (len(made.shape) - 1))
    return where(empty, cast(getattr(np.finfo(made.dtype), none), made.dtype), made)


def _size(given: Any, out_type: Any = np.int32, name: Any = None) -> Any:
    values = given.values if isinstance(given, SparseTensor) else given.flat_values
    return fresh(np.array(np.prod(values.shape), out_type))


def _truths(combine: Function, values: Any, segments: Any, count: int) -> Any:
    return combine(cast(values, np.int32), segments, count) > 0


# Reductions, as combining the values of one row each: (values, in which row each is, how many rows).
_COMBINED: dict[str, Function] = {
    "reduce_sum": index_functions.unsorted_segment_sum,
    "reduce_prod": index_functions.unsorted_segment_prod,
    "reduce_max": functools.partial(_extreme, index_functions.unsorted_segment_max, "min"),
    "reduce_min": functools.partial(_extreme, index_functions.unsorted_segment_min, "max"),
    "reduce_mean": _mean,
    "reduce_any": functools.partial(_truths, index_functions.unsorted_segment_sum),
    "reduce_all": functools.partial(_truths, index_functions.unsorted_segment_prod),
}
_OTHERS: dict[str, Function] = {
    "concat": ragged_rearranging.concat,
    "stack": ragged_rearranging.stack,
    "gather": ragged_rearranging.gather,
    "expand_dims": ragged_rearranging.expand_dims,
    "embedding_lookup": lambda params, ids, **_: ragged_rearranging.gather(params, ids),
    "size": _size,
    "rank": lambda given, name=None: fresh(np.array(len(given.shape), np.int32)),
    "identity": lambda given, name=None: given,
}
# Of these, each element of the result depends on those at its place alone.
_EACH = """
    abs add cast ceil clip_by_value cos divide divide_no_nan equal exp expm1 floor floordiv floormod gelu greater greater_equal
    is_finite is_inf is_nan leaky_relu less less_equal log log1p logical_and logical_not logical_or logical_xor maximum minimum
    mod multiply multiply_no_nan negative not_equal one_hot ones_like pow reciprocal relu relu6 round rsqrt selu sigmoid sign
    sin softplus softsign sqrt square squared_difference subtract swish silu tan tanh truediv where zeros_like
    """
