"""`tf.config.experimental`."""

from refdist._core.ops.device_listing import set_memory_growth

__all__ = ["set_memory_growth"]
