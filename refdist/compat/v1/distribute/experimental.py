"""`tf.compat.v1.distribute.experimental`."""

from refdist._core.base.enums import CommunicationImplementation
from refdist._core.base.enums import CommunicationImplementation as CollectiveCommunication
from refdist._core.base.options import CollectiveHints, CommunicationOptions
from refdist._core.strategies.v1_strategies import CentralStorageStrategyV1 as CentralStorageStrategy
from refdist._core.strategies.v1_strategies import MultiWorkerMirroredStrategyV1 as MultiWorkerMirroredStrategy
from refdist._core.strategies.v1_strategies import ParameterServerStrategyV1 as ParameterServerStrategy
from refdist._core.strategies.v1_strategies import TPUStrategyV1 as TPUStrategy

__all__ = [
    "CentralStorageStrategy",
    "CollectiveCommunication",
    "CollectiveHints",
    "CommunicationImplementation",
    "CommunicationOptions",
    "MultiWorkerMirroredStrategy",
    "ParameterServerStrategy",
    "TPUStrategy",
]
