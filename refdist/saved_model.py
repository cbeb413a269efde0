"""`tf.saved_model`: the variables and functions of a module, saved and loaded without the module's own code."""

from refdist._core.ops.late_names import late_names as _late_names

__getattr__, __dir__ = _late_names(__name__, __spec__)
