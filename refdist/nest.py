"""`tf.nest`: nested tuples, lists and dicts."""

from refdist._core.base.nest import assert_same_structure, flatten, is_nested, map_structure, pack_sequence_as
from refdist._core.ops.missing_names import lacking as _lacking

__getattr__ = _lacking("nest")

__all__ = ["assert_same_structure", "flatten", "is_nested", "map_structure", "pack_sequence_as"]
