from refdist._core.clusters.compute_engine_resolver import GCEClusterResolver as GCEClusterResolver
from refdist._core.clusters.kubernetes_resolver import (
    KubernetesClusterResolver as KubernetesClusterResolver,
    KubernetesExecutableLocation as KubernetesExecutableLocation,
)
from refdist._core.clusters.resolvers import (
    ClusterResolver as ClusterResolver,
    SimpleClusterResolver as SimpleClusterResolver,
    TFConfigClusterResolver as TFConfigClusterResolver,
    UnionResolver as UnionResolver,
)
from refdist._core.clusters.slurm_resolver import SlurmClusterResolver as SlurmClusterResolver
from refdist._core.clusters.tpu_system import TPUClusterResolver as TPUClusterResolver

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
