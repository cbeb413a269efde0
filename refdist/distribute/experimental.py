"""`tf.distribute.experimental`."""

from refdist.options import ValueContext
from refdist.strategies.central_storage import CentralStorageStrategy
from refdist.strategies.multi_worker_mirrored import (
    ExperimentalMultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy,
)
from refdist.strategies.tpu import ExperimentalTPUStrategy as TPUStrategy

__all__ = ["CentralStorageStrategy", "MultiWorkerMirroredStrategy", "TPUStrategy", "ValueContext"]
