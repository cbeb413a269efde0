from refdist._core.clusters.cluster_spec import ClusterSpec as ClusterSpec
from refdist._core.files.messages import (
    BytesList as BytesList,
    Example as Example,
    Feature as Feature,
    FeatureList as FeatureList,
    FeatureLists as FeatureLists,
    Features as Features,
    FloatList as FloatList,
    Int64List as Int64List,
    SequenceExample as SequenceExample,
)
from refdist._core.ops.moving_average import ExponentialMovingAverage as ExponentialMovingAverage
from refdist._core.ops.v1_schedules import (
    cosine_decay as cosine_decay,
    exponential_decay as exponential_decay,
    inverse_time_decay as inverse_time_decay,
    natural_exp_decay as natural_exp_decay,
    piecewise_constant as piecewise_constant,
    piecewise_constant as piecewise_constant_decay,
    polynomial_decay as polynomial_decay,
)
from refdist._core.saving.checkpoint import Checkpoint as Checkpoint
from refdist._core.tape.v1_optimizers import (
    AdagradOptimizer as AdagradOptimizer,
    AdamOptimizer as AdamOptimizer,
    GradientDescentOptimizer as GradientDescentOptimizer,
    MomentumOptimizer as MomentumOptimizer,
    Optimizer as Optimizer,
    RMSPropOptimizer as RMSPropOptimizer,
    get_global_step as get_global_step,
    get_or_create_global_step as get_or_create_global_step,
)

__all__ = [
    "AdagradOptimizer",
    "AdamOptimizer",
    "BytesList",
    "Checkpoint",
    "ClusterSpec",
    "Example",
    "ExponentialMovingAverage",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "GradientDescentOptimizer",
    "Int64List",
    "MomentumOptimizer",
    "Optimizer",
    "RMSPropOptimizer",
    "SequenceExample",
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
