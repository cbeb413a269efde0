"""`tf.tpu`."""

from refdist._core.ops.missing_names import lacking as _lacking
from refdist.tpu import experimental

__getattr__ = _lacking("tpu")

__all__ = ["experimental"]
