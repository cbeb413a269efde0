"""`tf.distribute.cluster_resolver`."""

from refdist._core.clusters.resolvers import (
    ClusterResolver,
    SimpleClusterResolver,
    TFConfigClusterResolver,
    UnionResolver,
)
from refdist._core.clusters.tpu_system import TPUClusterResolver

__all__ = ["ClusterResolver", "SimpleClusterResolver", "TFConfigClusterResolver", "TPUClusterResolver", "UnionResolver"]
