"""`tf.train`: checkpoints, examples, and what a cluster consists of."""

from refdist._core.clusters.cluster_spec import ClusterSpec
from refdist._core.ops.late_names import late_names as _late_names
from refdist._core.saving.checkpoint import Checkpoint
from refdist._core.saving.saving_options import CheckpointOptions

_MESSAGES = """
    BytesList ClusterDef Example Feature FeatureList FeatureLists Features FloatList Int64List JobDef SequenceExample
    ServerDef
"""
_LATE = {
    "refdist._core.ops.moving_average": "ExponentialMovingAverage",
    "refdist._core.saving.checkpoint_manager": "CheckpointManager",
    "refdist._core.saving.checkpoint_reader": "list_variables load_checkpoint load_variable",
    "refdist._core.saving.checkpoint_state": "checkpoints_iterator get_checkpoint_state latest_checkpoint",
    "refdist._core.files.messages": _MESSAGES,
}
__getattr__, __dir__ = _late_names("train", globals(), _LATE)

__all__ = [
    "Checkpoint",
    "CheckpointOptions",
    "ClusterSpec",
]
