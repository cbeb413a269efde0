"""`tf.config.optimizer`."""

from refdist._core.ops.machine_switches import get_experimental_options, get_jit, set_experimental_options, set_jit
from refdist._core.ops.missing_names import lacking as _lacking

__getattr__ = _lacking("config.optimizer")

__all__ = ["get_experimental_options", "get_jit", "set_experimental_options", "set_jit"]
