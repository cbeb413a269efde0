"""What makes initial values."""

import numpy as np

import refdist as tf


def test_an_initializer_with_a_seed_makes_the_same_values_each_time(any_backend):
    make, other = tf.random_normal_initializer(stddev=2.0, seed=3), tf.random_normal_initializer(stddev=2.0)

    assert np.asarray(make([3])).tolist() == np.asarray(make([3])).tolist()
    assert np.asarray(other([3])).tolist() != np.asarray(other([3])).tolist()
    assert {"mean": 0.0, "stddev": 2.0, "seed": 3} == make.get_config()
    assert [[1, 2], [3, 4]] == np.asarray(tf.constant_initializer([1, 2, 3, 4])([2, 2])).tolist()
