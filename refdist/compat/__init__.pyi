import refdist as v2
from refdist._core.ops.byte_strings import (
    as_bytes as as_bytes,
    as_text as as_str,
    as_text as as_text,
    path_to_str as path_to_str,
)
from refdist.compat import v1 as v1

__all__ = ["as_bytes", "as_str", "as_text", "path_to_str", "v1", "v2"]
