"""`tf.distribute.cluster_resolver`."""

from refdist._core.clusters.resolvers import (
    ClusterResolver,
    SimpleClusterResolver,
    TFConfigClusterResolver,
    UnionResolver,
)
from refdist._core.clusters.tpu_system import TPUClusterResolver
from refdist._core.ops.missing_names import lacking as _lacking

__getattr__ = _lacking("distribute.cluster_resolver")

__all__ = ["ClusterResolver", "SimpleClusterResolver", "TFConfigClusterResolver", "TPUClusterResolver", "UnionResolver"]
