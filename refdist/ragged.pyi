from refdist._core.ops.ragged_rearranging import (
    boolean_mask as boolean_mask,
    ragged_range as range,
    row_splits_to_segment_ids as row_splits_to_segment_ids,
    segment_ids_to_row_splits as segment_ids_to_row_splits,
    stack as stack,
)
from refdist._core.ops.ragged_tensor import ragged_constant as constant, map_flat_values as map_flat_values

__all__ = [
    "boolean_mask",
    "constant",
    "map_flat_values",
    "range",
    "row_splits_to_segment_ids",
    "segment_ids_to_row_splits",
    "stack",
]
