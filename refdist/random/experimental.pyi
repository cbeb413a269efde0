from refdist._core.ops.random_generator import (
    Algorithm as Algorithm,
    Generator as Generator,
    create_rng_state as create_rng_state,
    get_global_generator as get_global_generator,
    set_global_generator as set_global_generator,
)
from refdist._core.ops.random_numbers import (
    fold_in as stateless_fold_in,
    stateless_shuffle as stateless_shuffle,
    split as stateless_split,
)

__all__ = [
    "Algorithm",
    "Generator",
    "create_rng_state",
    "get_global_generator",
    "set_global_generator",
    "stateless_fold_in",
    "stateless_shuffle",
    "stateless_split",
]
