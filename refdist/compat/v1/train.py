"""`tf.compat.v1.train`: the optimizers of v1, and what they take."""

from refdist._core.clusters.cluster_spec import ClusterSpec
from refdist._core.ops.late_names import late_names as _late_names
from refdist._core.saving.checkpoint import Checkpoint

_MESSAGES = "BytesList Example Feature FeatureList FeatureLists Features FloatList Int64List SequenceExample"
_LATE = {
    "refdist._core.ops.moving_average": "ExponentialMovingAverage",
    "refdist._core.tape.v1_optimizers": """
        AdagradOptimizer AdamOptimizer GradientDescentOptimizer MomentumOptimizer Optimizer RMSPropOptimizer
        get_global_step get_or_create_global_step
    """,
    "refdist._core.ops.v1_schedules": """
        cosine_decay exponential_decay inverse_time_decay natural_exp_decay piecewise_constant
        piecewise_constant_decay:piecewise_constant polynomial_decay
    """,
    "refdist._core.files.messages": _MESSAGES,
}
__getattr__, __dir__ = _late_names("compat.v1.train", globals(), _LATE)

__all__ = [
    "Checkpoint",
    "ClusterSpec",
]
