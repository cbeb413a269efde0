"""`tf.distribute.experimental`."""

from refdist.options import CommunicationOptions, ValueContext
from refdist.strategies.central_storage import CentralStorageStrategy

__all__ = ["CentralStorageStrategy", "CommunicationOptions", "ValueContext"]
