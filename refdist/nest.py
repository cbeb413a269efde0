"""`tf.nest`: nested tuples, lists and dicts."""

from refdist._core.base.nest import is_nested
from refdist._core.ops.missing_names import lacking as _lacking
from refdist._core.ops.nest_functions import assert_same_structure, flatten, map_structure, pack_sequence_as

__getattr__ = _lacking("nest")

__all__ = ["assert_same_structure", "flatten", "is_nested", "map_structure", "pack_sequence_as"]
