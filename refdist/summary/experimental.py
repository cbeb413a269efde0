"""`tf.summary.experimental`."""

from refdist._core.files.summaries import get_step, set_step, summary_scope
from refdist._core.ops.missing_names import lacking as _lacking

__getattr__ = _lacking("summary.experimental")

__all__ = ["get_step", "set_step", "summary_scope"]
