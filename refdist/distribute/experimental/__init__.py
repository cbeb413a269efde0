"""`tf.distribute.experimental`."""

from refdist._core.base.enums import CommunicationImplementation
from refdist._core.base.enums import CommunicationImplementation as CollectiveCommunication
from refdist._core.base.options import CommunicationOptions, ValueContext
from refdist._core.strategies.central_storage import CentralStorageStrategy
from refdist._core.strategies.multi_worker_mirrored import (
    ExperimentalMultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy,
)
from refdist._core.strategies.parameter_server import ParameterServerStrategy
from refdist._core.strategies.tpu_strategy import ExperimentalTPUStrategy as TPUStrategy
from refdist.distribute.experimental import coordinator, partitioners

__all__ = [
    "CentralStorageStrategy",
    "CollectiveCommunication",
    "CommunicationImplementation",
    "CommunicationOptions",
    "MultiWorkerMirroredStrategy",
    "ParameterServerStrategy",
    "TPUStrategy",
    "ValueContext",
    "coordinator",
    "partitioners",
]
