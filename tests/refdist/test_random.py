import numpy as np
import pytest

import refdist as tf


def test_a_seed_draws_the_same_numbers_again(any_backend):
    draws = []
    for _ in range(2):
        tf.random.set_seed(1)
        draws.append(np.asarray(tf.random.uniform([3])).tolist())

    assert draws[0] == draws[1]
    assert np.asarray(tf.random.uniform([3], seed=5)).tolist() == np.asarray(tf.random.uniform([3], seed=5)).tolist()


@pytest.mark.parametrize(("dtype", "least", "most"), [("float32", -1, 1), ("int32", 3, 6)])
def test_numbers_lie_within_their_bounds(dtype, least, most):
    numbers = np.asarray(tf.random.uniform([200], least, most, getattr(tf, dtype)))

    assert np.dtype(dtype) == numbers.dtype
    assert least <= numbers.min() <= numbers.max() < most
    assert () == tf.random.uniform(()).shape
