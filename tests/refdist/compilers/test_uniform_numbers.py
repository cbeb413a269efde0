"""Tests of uniform random numbers that are computed without a program for each shape."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import refdist as tf
from refdist._core.compilers.uniform_numbers import uniform

SEED = np.array([0xDEADBEEF, 12], np.uint32)


@pytest.mark.parametrize(
    ("shape", "low", "high"), [((), 0.0, 1.0), ((3, 5, 2), -0.37, 0.37)], ids=["number", "weights"]
)
def test_they_are_those_of_jax_bit_by_bit(shape, low, high):
    expected = jax.random.uniform(jnp.asarray(SEED), shape=shape, dtype="float32", minval=low, maxval=high)

    actual = uniform(SEED, shape, low, high, "float32")

    assert (expected.shape, expected.dtype) == (actual.shape, actual.dtype)
    assert np.asarray(expected).tobytes() == np.asarray(actual).tobytes()


@pytest.mark.parametrize(
    ("seed", "shape", "low", "dtype"),
    [
        (SEED, (2,), 0.0, "float16"),
        (SEED, (2,), np.zeros(2, np.float32), "float32"),
        (SEED, (1 << 11, 1 << 10), 0.0, "float32"),
        (np.zeros(4, np.uint32), (2,), 0.0, "float32"),
        (jax.device_put(SEED, jax.devices()[0]), (2,), 0.0, "float32"),
    ],
    ids=["dtype", "bounds", "many", "seed", "device"],
)
def test_all_others_are_left_to_jax(seed, shape, low, dtype):
    assert uniform(seed, shape, low, 1.0, dtype) is None


def test_numbers_of_a_program_are_left_to_jax():
    found = []
    jax.make_jaxpr(lambda seed: found.append(uniform(seed, (2,), 0.0, 1.0, "float32")))(SEED)

    assert [None] == found


def test_layers_of_keras_begin_with_the_numbers_of_jax():
    limit = (6 / (3 + 4)) ** 0.5
    weights = tf.keras.initializers.GlorotUniform(seed=3)((3, 4))
    seed = tf.keras.random.SeedGenerator(3).next()

    assert np.array_equal(jax.random.uniform(seed, (3, 4), "float32", -limit, limit), weights)
