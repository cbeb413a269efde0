"""`tf.distribute.experimental`."""

from refdist.distribute import coordinator, partitioners
from refdist.options import ValueContext
from refdist.strategies.central_storage import CentralStorageStrategy
from refdist.strategies.multi_worker_mirrored import (
    ExperimentalMultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy,
)
from refdist.strategies.parameter_server import ParameterServerStrategy
from refdist.strategies.tpu import ExperimentalTPUStrategy as TPUStrategy

__all__ = [
    "CentralStorageStrategy",
    "MultiWorkerMirroredStrategy",
    "ParameterServerStrategy",
    "TPUStrategy",
    "ValueContext",
    "coordinator",
    "partitioners",
]
