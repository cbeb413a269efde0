"""`tf.version`: the version of the API that refdist follows."""

from refdist._core.base.api_version import VERSION
from refdist._core.ops.missing_names import lacking as _lacking

__getattr__ = _lacking("version")

__all__ = ["VERSION"]
