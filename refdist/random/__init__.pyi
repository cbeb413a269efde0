from refdist._core.base.entropy import set_seed as set_seed
from refdist._core.ops.random_distributions import (
    gamma as gamma,
    poisson as poisson,
    stateless_binomial as stateless_binomial,
    stateless_gamma as stateless_gamma,
    stateless_poisson as stateless_poisson,
)
from refdist._core.ops.random_generator import (
    Algorithm as Algorithm,
    Generator as Generator,
    create_rng_state as create_rng_state,
    get_global_generator as get_global_generator,
    set_global_generator as set_global_generator,
)
from refdist._core.ops.random_numbers import (
    categorical as categorical,
    fold_in as fold_in,
    normal as normal,
    shuffle as shuffle,
    split as split,
    stateless_categorical as stateless_categorical,
    stateless_normal as stateless_normal,
    stateless_truncated_normal as stateless_truncated_normal,
    stateless_uniform as stateless_uniform,
    truncated_normal as truncated_normal,
    uniform as uniform,
)
from refdist.random import experimental as experimental

__all__ = [
    "Algorithm",
    "Generator",
    "categorical",
    "create_rng_state",
    "experimental",
    "fold_in",
    "gamma",
    "get_global_generator",
    "normal",
    "poisson",
    "set_global_generator",
    "set_seed",
    "shuffle",
    "split",
    "stateless_binomial",
    "stateless_categorical",
    "stateless_gamma",
    "stateless_normal",
    "stateless_poisson",
    "stateless_truncated_normal",
    "stateless_uniform",
    "truncated_normal",
    "uniform",
]
