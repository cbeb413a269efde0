"""The rarer operations of `tf.linalg`; what TensorFlow answers is in test_rearranging.py."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as generators

import refdist as tf


@given(generators.lists(generators.floats(-2, 2, width=32), min_size=9, max_size=9))
def test_what_is_solved_gives_the_right_hand_side(numbers):
    square = np.reshape(numbers, (3, 3))
    lower = np.tril(square, -1) + 3 * np.eye(3)
    side = np.arange(6.0).reshape(3, 2)

    np.testing.assert_allclose(lower @ np.asarray(tf.linalg.triangular_solve(lower, side)), side, atol=1e-9)
    np.testing.assert_allclose(lower @ lower.T @ np.asarray(tf.linalg.cholesky_solve(lower, side)), side, atol=1e-8)


def test_a_gradient_goes_through_the_exponential_of_a_matrix():
    matrix = tf.constant(np.zeros((2, 2), np.float32))
    with tf.GradientTape() as tape:
        tape.watch(matrix)
        total = tf.reduce_sum(tf.linalg.expm(matrix))

    # What TensorFlow answers.
    np.testing.assert_allclose(tape.gradient(total, matrix), np.ones((2, 2)), atol=1e-6)
