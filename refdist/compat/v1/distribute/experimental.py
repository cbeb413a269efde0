"""`tf.compat.v1.distribute.experimental`."""

from refdist.surface_v1 import CentralStorageStrategyV1 as CentralStorageStrategy
from refdist.surface_v1 import MultiWorkerMirroredStrategyV1 as MultiWorkerMirroredStrategy
from refdist.surface_v1 import ParameterServerStrategyV1 as ParameterServerStrategy
from refdist.surface_v1 import TPUStrategyV1 as TPUStrategy

__all__ = ["CentralStorageStrategy", "MultiWorkerMirroredStrategy", "ParameterServerStrategy", "TPUStrategy"]
