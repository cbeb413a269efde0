from refdist._core.base.nest import is_nested as is_nested
from refdist._core.ops.nest_functions import (
    assert_same_structure as assert_same_structure,
    flatten as flatten,
    map_structure as map_structure,
    pack_sequence_as as pack_sequence_as,
)

__all__ = ["assert_same_structure", "flatten", "is_nested", "map_structure", "pack_sequence_as"]
