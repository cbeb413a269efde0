"""`tf.distribute.cluster_resolver`."""

from refdist._core.clusters.compute_engine_resolver import GCEClusterResolver
from refdist._core.clusters.kubernetes_resolver import KubernetesClusterResolver, KubernetesExecutableLocation
from refdist._core.clusters.resolvers import (
    ClusterResolver,
    SimpleClusterResolver,
    TFConfigClusterResolver,
    UnionResolver,
)
from refdist._core.clusters.slurm_resolver import SlurmClusterResolver
from refdist._core.clusters.tpu_system import TPUClusterResolver
from refdist._core.ops.missing_names import lacking as _lacking

__getattr__ = _lacking("distribute.cluster_resolver")

__all__ = [
    "ClusterResolver",
    "GCEClusterResolver",
    "KubernetesClusterResolver",
    "KubernetesExecutableLocation",
    "SimpleClusterResolver",
    "SlurmClusterResolver",
    "TFConfigClusterResolver",
    "TPUClusterResolver",
    "UnionResolver",
]
