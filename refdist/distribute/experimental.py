"""`tf.distribute.experimental`."""

from refdist.options import ValueContext
from refdist.strategies.central_storage import CentralStorageStrategy
from refdist.strategies.multi_worker_mirrored import (
    ExperimentalMultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy,
)

__all__ = ["CentralStorageStrategy", "MultiWorkerMirroredStrategy", "ValueContext"]
