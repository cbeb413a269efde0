"""`tf.ragged`: rows of different lengths."""

from refdist._core.ops.missing_names import lacking as _lacking
from refdist._core.ops.ragged_tensor import map_flat_values
from refdist._core.ops.ragged_tensor import ragged_constant as constant

__getattr__ = _lacking("ragged")

__all__ = [
    "constant",
    "map_flat_values",
]
