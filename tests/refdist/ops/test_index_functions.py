"""What the recorded answers, which test_more_operations.py compares, do not say."""

import numpy as np
import pytest

import refdist as tf


@pytest.mark.parametrize("around", [lambda step: step, tf.function], ids=["eager", "staged"])
def test_indices_beyond_the_end_are_told_in_a_function_too(any_backend, around):
    for step in (
        lambda at: tf.gather_nd(tf.constant([1, 2]), at),
        lambda at: tf.scatter_nd(at, tf.constant([1]), [2]),
        lambda at: tf.tensor_scatter_nd_update(tf.constant([1, 2]), at, tf.constant([1])),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match="indices beyond"):
            around(step)(tf.constant([[2]]))


def test_options_that_are_missing_say_what_to_do():
    with pytest.raises(tf.errors.InvalidArgumentError, match="each row by itself"):
        tf.math.bincount([[1]], axis=-1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="clip_by_norm"):
        tf.nn.embedding_lookup(np.ones((2, 2)), [0], max_norm=1.0)


def test_the_results_of_top_k_have_names():
    rows = tf.constant([[1.0, 3.0, 2.0]])

    for found in (tf.math.top_k(rows, 2), tf.function(lambda: tf.math.top_k(rows, 2))()):
        assert [[3.0, 2.0]] == np.asarray(found.values).tolist()
        assert [[1, 2]] == np.asarray(found.indices).tolist()
