"""`tf.autograph`: how Python's control flow becomes part of programs."""

from refdist._core.ops.missing_names import lacking as _lacking
from refdist.autograph import experimental

__getattr__ = _lacking("autograph")

__all__ = ["experimental"]
