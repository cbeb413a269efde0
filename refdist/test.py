"""`tf.test`: what tests ask about devices; `unittest` and `pytest` have the rest."""

from refdist._core.ops.machine_switches import (
    gpu_device_name,
    is_built_with_cuda,
    is_built_with_gpu_support,
    is_built_with_rocm,
    is_built_with_xla,
    is_gpu_available,
)
from refdist._core.ops.missing_names import lacking as _lacking

__getattr__ = _lacking("test")

__all__ = [
    "gpu_device_name",
    "is_built_with_cuda",
    "is_built_with_gpu_support",
    "is_built_with_rocm",
    "is_built_with_xla",
    "is_gpu_available",
]
