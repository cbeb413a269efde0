"""`tf.profiler`."""

from refdist._core.ops.missing_names import lacking as _lacking
from refdist.profiler import experimental

__getattr__ = _lacking("profiler")

__all__ = ["experimental"]
