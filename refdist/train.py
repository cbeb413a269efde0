"""`tf.train`: checkpoints, examples, and what a cluster consists of."""

from refdist._core.clusters.cluster_spec import ClusterSpec
from refdist._core.ops.late_names import late_names as _late_names
from refdist._core.ops.moving_average import ExponentialMovingAverage
from refdist._core.saving.checkpoint import Checkpoint
from refdist._core.saving.checkpoint_manager import CheckpointManager
from refdist._core.saving.checkpoint_reader import list_variables, load_checkpoint, load_variable
from refdist._core.saving.checkpoint_state import checkpoints_iterator, get_checkpoint_state, latest_checkpoint
from refdist._core.saving.saving_options import CheckpointOptions

_MESSAGES = "BytesList Example Feature FeatureList FeatureLists Features FloatList Int64List SequenceExample"
__getattr__, __dir__ = _late_names("train", globals(), {"refdist._core.files.messages": _MESSAGES})

__all__ = [
    "Checkpoint",
    "CheckpointManager",
    "CheckpointOptions",
    "ClusterSpec",
    "ExponentialMovingAverage",
    "checkpoints_iterator",
    "get_checkpoint_state",
    "latest_checkpoint",
    "list_variables",
    "load_checkpoint",
    "load_variable",
]
