"""What the recorded answers, which test_more_operations.py compares, do not say."""

import numpy as np
import pytest

import refdist as tf


@pytest.mark.parametrize("around", [lambda step: step, tf.function], ids=["eager", "staged"])
def test_nests_are_taken_apart_and_put_together(any_backend, around):
    step = around(lambda x, y: tf.map_fn(lambda one: {"sum": one[0] + one[1], "first": one[0]}, (x, y)))
    found = step(tf.constant([1, 2]), tf.constant([[3], [4]]))

    assert [[4], [6]] == np.asarray(found["sum"]).tolist()
    assert [1, 2] == np.asarray(found["first"]).tolist()


def test_an_initializer_with_a_seed_makes_the_same_values_each_time(any_backend):
    make, other = tf.random_normal_initializer(stddev=2.0, seed=3), tf.random_normal_initializer(stddev=2.0)

    assert np.asarray(make([3])).tolist() == np.asarray(make([3])).tolist()
    assert np.asarray(other([3])).tolist() != np.asarray(other([3])).tolist()
    assert {"mean": 0.0, "stddev": 2.0, "seed": 3} == make.get_config()
    assert [[1, 2], [3, 4]] == np.asarray(tf.constant_initializer([1, 2, 3, 4])([2, 2])).tolist()


def test_elements_that_do_not_fit_together_are_told():
    with pytest.raises(tf.errors.InvalidArgumentError, match="one first dimension"):
        tf.map_fn(lambda one: one[0], (tf.constant([1]), tf.constant([1, 2])))
    with pytest.raises(tf.errors.InvalidArgumentError, match="no elements"):
        tf.map_fn(lambda one: one, tf.zeros([0]))
