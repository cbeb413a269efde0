"""`tf.train`: checkpoints, and what a cluster consists of."""

from refdist._core.clusters.cluster_spec import ClusterSpec
from refdist._core.saving.checkpoint import Checkpoint
from refdist._core.saving.checkpoint_manager import CheckpointManager
from refdist._core.saving.checkpoint_reader import list_variables, load_checkpoint, load_variable
from refdist._core.saving.checkpoint_state import checkpoints_iterator, get_checkpoint_state, latest_checkpoint
from refdist._core.saving.saving_options import CheckpointOptions

__all__ = [
    "Checkpoint",
    "CheckpointManager",
    "CheckpointOptions",
    "ClusterSpec",
    "checkpoints_iterator",
    "get_checkpoint_state",
    "latest_checkpoint",
    "list_variables",
    "load_checkpoint",
    "load_variable",
]
