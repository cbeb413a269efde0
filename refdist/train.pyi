from refdist._core.clusters.cluster_spec import ClusterSpec as ClusterSpec
from refdist._core.files.messages import (
    BytesList as BytesList,
    ClusterDef as ClusterDef,
    Example as Example,
    Feature as Feature,
    FeatureList as FeatureList,
    FeatureLists as FeatureLists,
    Features as Features,
    FloatList as FloatList,
    Int64List as Int64List,
    JobDef as JobDef,
    SequenceExample as SequenceExample,
    ServerDef as ServerDef,
)
from refdist._core.ops.moving_average import ExponentialMovingAverage as ExponentialMovingAverage
from refdist._core.saving.checkpoint import Checkpoint as Checkpoint
from refdist._core.saving.checkpoint_manager import CheckpointManager as CheckpointManager
from refdist._core.saving.checkpoint_reader import (
    list_variables as list_variables,
    load_checkpoint as load_checkpoint,
    load_variable as load_variable,
)
from refdist._core.saving.checkpoint_state import (
    checkpoints_iterator as checkpoints_iterator,
    get_checkpoint_state as get_checkpoint_state,
    latest_checkpoint as latest_checkpoint,
)
from refdist._core.saving.saving_options import CheckpointOptions as CheckpointOptions

__all__ = [
    "BytesList",
    "Checkpoint",
    "CheckpointManager",
    "CheckpointOptions",
    "ClusterDef",
    "ClusterSpec",
    "Example",
    "ExponentialMovingAverage",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "JobDef",
    "SequenceExample",
    "ServerDef",
    "checkpoints_iterator",
    "get_checkpoint_state",
    "latest_checkpoint",
    "list_variables",
    "load_checkpoint",
    "load_variable",
]
