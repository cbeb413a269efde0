"""`tf.data.experimental`."""

from refdist._core.input.dataset import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from refdist._core.input.dataset_options import SHARD_HINT, AutoShardPolicy, DistributeOptions

__all__ = ["INFINITE_CARDINALITY", "SHARD_HINT", "UNKNOWN_CARDINALITY", "AutoShardPolicy", "DistributeOptions"]
