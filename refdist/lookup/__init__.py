"""`tf.lookup`: tables from strings or integers to values."""

from refdist._core.ops.late_names import late_names as _late_names

__getattr__, __dir__ = _late_names(__name__, __spec__)
