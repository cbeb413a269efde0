"""Random numbers of Keras: each replica drops other units, as with the random numbers of `tf.random`; first values come quickly."""

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from refdist._core.base.jax_facts import staging
from refdist._core.base.where import HERE
from refdist._core.compilers import uniform_numbers

_APART = 0x9E3779B1  # odd, so that no two replicas get one number


def install() -> None:
    """Make what generators of seeds return depend on the replica; their state does not, and stays one for all."""
    generator: Any = importlib.import_module("keras.src.random.seed_generator").SeedGenerator
    generator.next = _of_replica(generator.next)
    random: Any = importlib.import_module("keras.src.backend.jax.random")
    random.uniform = _without_compiling(random.uniform, random.jax_draw_seed)


def _of_replica(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def following(self: Any, ordered: bool = True) -> Any:
        seed = original(self, ordered=ordered)
        here = HERE.get()
        replica = here.frame.replica if here.frame is not None else None
        if replica is None or replica.num_replicas_in_sync == 1 or (here.draft is None and staging()):
            return seed  # a program that JAX keeps for all replicas has no number of its own
        number: Any = replica.replica_id_in_sync_group
        if isinstance(number, int):
            # The first replica adds zero: if it took another step than the others, each would get a program of its own.
            return seed + np.array([number * _APART % 2**32, 0], np.uint32)
        return seed.at[0].add(number.astype(np.uint32) * np.uint32(_APART))

    return following


def _without_compiling(original: Callable[..., Any], drawn: Callable[[Any], Any]) -> Callable[..., Any]:
    """Draw the same numbers as before, such as the first weights of a layer, without a program for each shape."""

    @functools.wraps(original)
    def uniform(shape: Any, minval: Any = 0.0, maxval: Any = 1.0, dtype: Any = None, seed: Any = None) -> Any:
        here = HERE.get()
        in_replica = here.frame is not None and here.frame.replica is not None
        if dtype != "float32" or in_replica or here.draft is not None or staging():
            return original(shape, minval=minval, maxval=maxval, dtype=dtype, seed=seed)
        key = drawn(seed)
        numbers = uniform_numbers.uniform(key, shape, minval, maxval, dtype)
        return original(shape, minval=minval, maxval=maxval, dtype=dtype, seed=key) if numbers is None else numbers

    return uniform
