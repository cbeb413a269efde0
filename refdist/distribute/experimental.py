"""`tf.distribute.experimental`."""

from refdist.options import ValueContext
from refdist.strategies.central_storage import CentralStorageStrategy
from refdist.strategies.multi_worker_mirrored import MultiWorkerMirroredStrategy

__all__ = ["CentralStorageStrategy", "MultiWorkerMirroredStrategy", "ValueContext"]
