"""`tf.distribute.cluster_resolver`."""

from refdist.cluster import ClusterResolver, SimpleClusterResolver, TFConfigClusterResolver
from refdist.tpu_system import TPUClusterResolver

__all__ = ["ClusterResolver", "SimpleClusterResolver", "TFConfigClusterResolver", "TPUClusterResolver"]
