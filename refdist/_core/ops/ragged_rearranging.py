"""Ragged tensors from others: `tf.concat`, `tf.stack`, `tf.gather` and `tf.ragged.boolean_mask`.

The places of all elements are rearranged as the rows of a pipeline are, and the elements themselves gathered once, at the end.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from refdist._core.base.errors import InvalidArgumentError
from refdist._core.input.ragged_rows import RaggedRows
from refdist._core.ops import index_functions, shape_functions, tensor_functions
from refdist._core.ops.ragged_tensor import RaggedTensor
from refdist._core.ops.tensor_functions import convert_to_tensor, fresh


def concat(values: Sequence[Any], axis: Any, name: Any = None) -> Any:
    """Join ragged tensors along an existing axis."""
    given = _alike(values)
    place = int(axis) % len(given[0].shape)
    if place > 1:
        return given[0].with_values(concat([one.values for one in given], place - 1))
    if place == 0:
        return _rearranged(given, lambda rows: rows[0].joined(rows))
    return _row_by_row(given, lambda rows: rows[0].joined(rows))


def stack(values: Sequence[Any], axis: int = 0, name: Any = None) -> Any:
    """Join tensors, also of different shapes, along a new axis, which is the first or the second."""
    given = _alike(values)
    if not 0 <= axis <= 1:
        raise InvalidArgumentError(
            f"stack() of ragged tensors got axis={axis}; expected 0 or 1. Stack along one of these, or use to_tensor()."
        )
    if axis == 0:
        return _rearranged(given, lambda rows: rows[0].stacked(rows))
    return _row_by_row(given, lambda rows: rows[0].stacked(rows))


def gather(params: Any, indices: Any, *args: Any, **kwargs: Any) -> Any:
    """Take rows of a ragged tensor, or slices of a tensor for each row of ragged indices."""
    if isinstance(indices, RaggedTensor):
        taken = gather if isinstance(params, RaggedTensor) else shape_functions.gather
        return indices.with_flat_values(taken(params, indices.flat_values, *args, **kwargs))
    places = np.asarray(convert_to_tensor(indices))
    if kwargs.get("axis") or kwargs.get("batch_dims") or args or places.ndim != 1:
        raise InvalidArgumentError(
            f"gather() of a RaggedTensor got indices of shape {places.shape} and {args or kwargs}; expected one dimension of row "
            f"numbers, or ragged ones. Use to_tensor()."
        )
    if places.size and not 0 <= places.min() <= places.max() < len(params):
        raise InvalidArgumentError(
            f"gather() got indices from {places.min()} to {places.max()}; expected 0 to {len(params) - 1}. Correct them."
        )
    return _rearranged([params], lambda rows: rows[0][places])


def boolean_mask(data: Any, mask: Any, name: Any = None) -> Any:
    """Keep the elements, or the rows, for which a mask is true; those of each row stay together."""
    chosen = mask if isinstance(mask, RaggedTensor) else convert_to_tensor(mask)
    if len(chosen.shape) == 1:
        known = np.flatnonzero(np.asarray(chosen))
        return gather(data, known) if isinstance(data, RaggedTensor) else index_functions.boolean_mask(data, chosen)
    given, wanted = _alike([data]), _alike([chosen])[0]
    if [one.tolist() for one in given[0].nested_row_splits][:1] != [one.tolist() for one in wanted.nested_row_splits]:
        raise InvalidArgumentError(
            f"boolean_mask() got a mask of shape {wanted.shape} for data of shape {given[0].shape}; expected one with rows of the "
            f"same lengths, or one truth value for each row. Correct the mask."
        )
    kept, ids = np.asarray(wanted.flat_values), np.asarray(wanted.value_rowids())
    values = index_functions.boolean_mask(given[0].values, kept)
    return RaggedTensor.from_row_lengths(values, np.bincount(ids[kept], minlength=len(wanted)))


def expand_dims(input: Any, axis: Any, name: Any = None) -> Any:
    """Give a ragged tensor a dimension of size 1."""
    place = int(axis) % (len(input.shape) + 1)
    if place == 0:
        return stack([input])
    if place == 1:
        return RaggedTensor.from_row_lengths(input, np.ones(len(input), np.int64))
    inner = input.values
    own = expand_dims if isinstance(inner, RaggedTensor) else shape_functions.expand_dims
    return input.with_values(own(inner, place - 1))


def ragged_range(starts: Any, limits: Any = None, deltas: Any = 1, dtype: Any = None, **options: Any) -> RaggedTensor:
    """Count in each row from its start to its limit."""
    first, last = (np.zeros_like(np.asarray(starts)), starts) if limits is None else (starts, limits)
    bounds = np.broadcast_arrays(*(np.asarray(convert_to_tensor(one)) for one in (first, last, deltas)))
    rows = [np.arange(*one) for one in zip(*(np.atleast_1d(bound) for bound in bounds), strict=True)]
    flat = np.concatenate([np.empty(0, bounds[1].dtype), *rows]).astype(dtype or bounds[1].dtype)
    return RaggedTensor.from_row_lengths(fresh(flat), np.array([len(row) for row in rows], np.int64))


def row_splits_to_segment_ids(splits: Any, name: Any = None, out_type: Any = np.int64) -> Any:
    """In which row each value is, given where rows begin."""
    lengths: Any = np.diff(np.asarray(splits))
    return fresh(np.repeat(np.arange(len(lengths)), lengths).astype(out_type))


def segment_ids_to_row_splits(
    segment_ids: Any, num_segments: Any = None, out_type: Any = np.int64, name: Any = None
) -> Any:
    """Where rows begin, given in which row each value is."""
    count = 0 if num_segments is None else int(num_segments)
    lengths = np.bincount(np.asarray(segment_ids), minlength=count)
    return fresh(np.concatenate([[0], np.cumsum(lengths)]).astype(out_type))


def _alike(values: Sequence[Any]) -> list[Any]:
    """Tensors as ragged ones with as many dimensions of rows as the others have; single rows stay tensors."""
    given = [one if isinstance(one, RaggedTensor) else convert_to_tensor(one) for one in values]
    ranks = {len(one.shape) for one in given}
    if len(ranks) > 1 or 0 in ranks:
        raise InvalidArgumentError(
            f"Tensors of shapes {', '.join(str(one.shape) for one in given)} came together; expected one number of dimensions, at "
            f"least 1. Use tf.expand_dims()."
        )
    depth = max([one.ragged_rank for one in given if isinstance(one, RaggedTensor)], default=min(1, ranks.pop() - 1))
    return [_as_ragged(one, depth) for one in given]


def _as_ragged(value: Any, depth: int) -> Any:
    if not isinstance(value, RaggedTensor):
        return RaggedRows.of_dense(np.arange(value.size).reshape(value.shape), depth)[:].tensor(
            lambda places: shape_functions.gather(shape_functions.reshape(value, [-1]), places)
        )
    return value


def _rearranged(given: Sequence[Any], how: Callable[[list[RaggedRows]], RaggedRows]) -> Any:
    """Gather the elements of tensors into rows that are made of their places."""
    flats = [one.flat_values if isinstance(one, RaggedTensor) else one for one in given]
    starts = np.cumsum([0, *(len(one) for one in flats[:-1])])
    rows = [
        RaggedRows(start + np.arange(len(flat)), _splits_of(one))
        for one, flat, start in zip(given, flats, starts, strict=True)
    ]
    whole = tensor_functions.concat(flats, 0)
    return how(rows).tensor(lambda places: shape_functions.gather(whole, places))


def _row_by_row(given: Sequence[Any], how: Callable[[list[RaggedRows]], RaggedRows]) -> Any:
    """Do the same with the rows that have one number."""
    counts = {len(one) for one in given}
    if len(counts) > 1:
        raise InvalidArgumentError(
            f"Ragged tensors of {', '.join(str(len(one)) for one in given)} rows came together; expected one number of rows. Join "
            f"them along axis 0."
        )
    (count,) = counts

    def side_by_side(rows: list[RaggedRows]) -> RaggedRows:
        made = [how([one[place] for one in rows]) for place in range(count)]
        return made[0].stacked(made) if made else rows[0]

    return _rearranged(given, side_by_side)


def _splits_of(value: Any) -> list[Any]:
    return [np.asarray(one) for one in value.nested_row_splits] if isinstance(value, RaggedTensor) else []
