"""Uniform random numbers for the first values of variables, bit by bit those of `jax.random.uniform`, but sooner there.

XLA compiles the generator anew for each shape, and that takes longer than all else that a small model does in its first second.
So numpy computes the random bits here, and JAX makes floats of them.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from refdist._core.base.jax_facts import is_tracer

_MOST = 1 << 20  # of more numbers, computing takes longer than compiling
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)
_ONE = np.uint32(0x3F800000)  # the bits of 1.0, whose last 23 become random


def uniform(seed: Any, shape: Any, low: Any, high: Any, dtype: Any) -> Any:
    """The numbers that `jax.random.uniform` returns for the two words of a seed; None where it has to be asked."""
    if is_tracer(seed) or np.dtype(dtype) != np.float32 or not _plain(low) or not _plain(high):
        return None
    if seed.shape != (2,) or seed.dtype != np.uint32 or getattr(seed, "committed", False):
        return None
    size = int(np.prod(shape, dtype=np.int64))
    config: Any = jax.config
    if size > _MOST or config.jax_default_prng_impl != "threefry2x32" or not config.jax_threefry_partitionable:
        return None
    return _scaled(_bits(np.asarray(seed), size).reshape(shape), np.float32(low), np.float32(high))


def _plain(bound: Any) -> bool:
    return isinstance(bound, (int, float, np.floating))


def _bits(seed: np.ndarray[Any, Any], size: int) -> np.ndarray[Any, Any]:
    """Threefry 2x32 of twenty rounds: for each number the two words of its place, mixed under the key, and joined."""
    keys = seed[:1], seed[1:], seed[:1] ^ seed[1:] ^ _PARITY
    one, other = np.zeros(size, np.uint32) + keys[0], np.arange(size, dtype=np.uint32) + keys[1]
    for turn in range(5):
        for distance in _ROTATIONS[turn % 2]:
            one += other
            other = (other << np.uint32(distance) | other >> np.uint32(32 - distance)) ^ one
        one += keys[(turn + 1) % 3]
        other += keys[(turn + 2) % 3] + np.uint32(turn + 1)
    return one ^ other


@jax.jit
def _scaled(bits: Any, low: Any, high: Any) -> Any:
    # By XLA, as in jax.random, because it multiplies and adds in one step, with one rounding.
    parts = lax.bitcast_convert_type(bits >> np.uint32(9) | _ONE, jnp.float32) - np.float32(1)
    return jnp.maximum(low, parts * (high - low) + low)
