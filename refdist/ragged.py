"""`tf.ragged`: rows of different lengths."""

from refdist._core.ops.missing_names import lacking as _lacking
from refdist._core.ops.ragged_rearranging import (
    boolean_mask,
    row_splits_to_segment_ids,
    segment_ids_to_row_splits,
    stack,
)
from refdist._core.ops.ragged_rearranging import ragged_range as range
from refdist._core.ops.ragged_tensor import map_flat_values
from refdist._core.ops.ragged_tensor import ragged_constant as constant

__getattr__ = _lacking("ragged")

__all__ = [
    "boolean_mask",
    "constant",
    "map_flat_values",
    "range",
    "row_splits_to_segment_ids",
    "segment_ids_to_row_splits",
    "stack",
]
