from refdist._core.base.enums import (
    CommunicationImplementation as CollectiveCommunication,
    CommunicationImplementation as CommunicationImplementation,
)
from refdist._core.base.options import CollectiveHints as CollectiveHints, CommunicationOptions as CommunicationOptions
from refdist._core.strategies.v1_strategies import (
    CentralStorageStrategyV1 as CentralStorageStrategy,
    MultiWorkerMirroredStrategyV1 as MultiWorkerMirroredStrategy,
    ParameterServerStrategyV1 as ParameterServerStrategy,
    TPUStrategyV1 as TPUStrategy,
)

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
