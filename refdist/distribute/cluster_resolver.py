"""`tf.distribute.cluster_resolver`."""

from refdist.cluster import ClusterResolver, SimpleClusterResolver, TFConfigClusterResolver

__all__ = ["ClusterResolver", "SimpleClusterResolver", "TFConfigClusterResolver"]
