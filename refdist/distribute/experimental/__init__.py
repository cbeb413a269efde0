"""`tf.distribute.experimental`."""

from refdist._core.base.enums import CommunicationImplementation
from refdist._core.base.enums import CommunicationImplementation as CollectiveCommunication
from refdist._core.base.options import CollectiveHints, CommunicationOptions, ValueContext
from refdist._core.ops.missing_names import lacking as _lacking
from refdist._core.strategies.central_storage import CentralStorageStrategy
from refdist._core.strategies.multi_worker_mirrored import (
    ExperimentalMultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy,
)
from refdist._core.strategies.parameter_server import ParameterServerStrategy
from refdist._core.strategies.tpu_strategy import ExperimentalTPUStrategy as TPUStrategy
from refdist.distribute.experimental import coordinator, partitioners

__getattr__ = _lacking("distribute.experimental")

__all__ = [
    "CentralStorageStrategy",
    "CollectiveCommunication",
    "CollectiveHints",
    "CommunicationImplementation",
    "CommunicationOptions",
    "MultiWorkerMirroredStrategy",
    "ParameterServerStrategy",
    "TPUStrategy",
    "ValueContext",
    "coordinator",
    "partitioners",
]
