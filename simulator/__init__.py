"""Virtual devices in one process, with exact numerics: choose them with `refdist.use("simulator", gpus=8)`."""

from refdist._core.ops.late_names import late_names as _late_names

__getattr__, __dir__ = _late_names(__name__, __spec__)
