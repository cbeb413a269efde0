"""`tf.compat.v1.distribute.experimental`."""

from refdist.surface_v1 import CentralStorageStrategyV1 as CentralStorageStrategy

__all__ = ["CentralStorageStrategy"]
