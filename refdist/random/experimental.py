"""`tf.random.experimental`."""

from refdist._core.ops.random_generator import (
    Algorithm,
    Generator,
    create_rng_state,
    get_global_generator,
    set_global_generator,
)
from refdist._core.ops.random_numbers import fold_in as stateless_fold_in
from refdist._core.ops.random_numbers import split as stateless_split
from refdist._core.ops.random_numbers import stateless_shuffle

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
