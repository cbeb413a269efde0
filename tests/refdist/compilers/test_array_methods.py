import numpy as np
import pytest

import refdist as tf


def test_arrays_of_jax_become_numpy_arrays_as_tensors_do():
    with tf.using("jax"):
        array, number = tf.constant([1.0, 2.0]), tf.constant(3)

    assert [1.0, 2.0] == array.numpy().tolist()
    assert isinstance(number.numpy(), np.int32)
    array.numpy()[0] = 5.0  # a copy
    assert [1.0, 2.0] == array.numpy().tolist()


def test_what_a_program_has_not_computed_yet_has_no_numpy_array():
    with tf.using("jax"), pytest.raises(AttributeError, match="numpy"):
        tf.function(lambda x: x.numpy())(tf.constant(1.0))
