"""`tf.train`: checkpoints, and what a cluster consists of."""

from refdist._core.clusters.cluster_spec import ClusterSpec
from refdist._core.saving.checkpoint import Checkpoint

__all__ = ["Checkpoint", "ClusterSpec"]
