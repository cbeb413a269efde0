"""`tf.distribute.cluster_resolver`."""

from refdist._core.clusters.tpu_system import TPUClusterResolver
from refdist._core.clusters.workers import ClusterResolver, SimpleClusterResolver, TFConfigClusterResolver

__all__ = ["ClusterResolver", "SimpleClusterResolver", "TFConfigClusterResolver", "TPUClusterResolver"]
