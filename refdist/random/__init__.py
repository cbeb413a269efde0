"""`tf.random`."""

from refdist._core.base.entropy import set_seed
from refdist._core.ops.late_names import late_names as _late_names
from refdist._core.ops.random_numbers import (
    categorical,
    fold_in,
    normal,
    shuffle,
    split,
    stateless_categorical,
    stateless_normal,
    stateless_truncated_normal,
    stateless_uniform,
    truncated_normal,
    uniform,
)
from refdist.random import experimental

_LATE = {
    "refdist._core.ops.random_distributions": """
        gamma poisson stateless_binomial stateless_gamma stateless_poisson
    """,
    "refdist._core.ops.random_generator": """
        Algorithm Generator create_rng_state get_global_generator set_global_generator
    """,
}
__getattr__, __dir__ = _late_names("random", globals(), _LATE)

__all__ = [
    "categorical",
    "experimental",
    "fold_in",
    "normal",
    "set_seed",
    "shuffle",
    "split",
    "stateless_categorical",
    "stateless_normal",
    "stateless_truncated_normal",
    "stateless_uniform",
    "truncated_normal",
    "uniform",
]
