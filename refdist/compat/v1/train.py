"""`tf.compat.v1.train`: the optimizers of v1, and what they take."""

from refdist._core.clusters.cluster_spec import ClusterSpec
from refdist._core.ops.late_names import late_names as _late_names
from refdist._core.ops.moving_average import ExponentialMovingAverage
from refdist._core.ops.v1_optimizers import (
    AdagradOptimizer,
    AdamOptimizer,
    GradientDescentOptimizer,
    MomentumOptimizer,
    Optimizer,
    RMSPropOptimizer,
    get_global_step,
    get_or_create_global_step,
)
from refdist._core.ops.v1_schedules import (
    cosine_decay,
    exponential_decay,
    inverse_time_decay,
    natural_exp_decay,
    piecewise_constant,
    polynomial_decay,
)
from refdist._core.ops.v1_schedules import piecewise_constant as piecewise_constant_decay
from refdist._core.saving.checkpoint import Checkpoint

_MESSAGES = "BytesList Example Feature FeatureList FeatureLists Features FloatList Int64List SequenceExample"
__getattr__, __dir__ = _late_names("compat.v1.train", globals(), {"refdist._core.files.messages": _MESSAGES})

__all__ = [
    "AdagradOptimizer",
    "AdamOptimizer",
    "Checkpoint",
    "ClusterSpec",
    "ExponentialMovingAverage",
    "GradientDescentOptimizer",
    "MomentumOptimizer",
    "Optimizer",
    "RMSPropOptimizer",
    "cosine_decay",
    "exponential_decay",
    "get_global_step",
    "get_or_create_global_step",
    "inverse_time_decay",
    "natural_exp_decay",
    "piecewise_constant",
    "piecewise_constant_decay",
    "polynomial_decay",
]
