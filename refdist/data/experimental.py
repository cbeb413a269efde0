"""`tf.data.experimental`."""

from refdist.data.dataset import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from refdist.data.options import SHARD_HINT, AutoShardPolicy, DistributeOptions

__all__ = ["INFINITE_CARDINALITY", "SHARD_HINT", "UNKNOWN_CARDINALITY", "AutoShardPolicy", "DistributeOptions"]
