"""`tf.distribute.experimental`."""

from refdist.options import ValueContext
from refdist.strategies.central_storage import CentralStorageStrategy

__all__ = ["CentralStorageStrategy", "ValueContext"]
