"""`tf.compat`: the v1 flavor of the API, and v2, which is `tf` itself."""

import refdist as v2
from refdist._core.ops.byte_strings import as_bytes, as_text, path_to_str
from refdist._core.ops.byte_strings import as_text as as_str
from refdist._core.ops.missing_names import lacking as _lacking
from refdist.compat import v1

__getattr__ = _lacking("compat")

__all__ = ["as_bytes", "as_str", "as_text", "path_to_str", "v1", "v2"]
