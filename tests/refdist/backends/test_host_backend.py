"""Numpy with a device label: what is shared with the arrays of a program, and what is not."""

import numpy as np
import pytest

import refdist as tf
from tests.generators import DTYPES

MAKERS = [tf.constant, tf.convert_to_tensor, lambda array: tf.Variable(array).read_value()]


def read_only(view):
    view.flags.writeable = False
    return view


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    "view",
    [
        lambda base: read_only(base[:]),
        lambda base: read_only(base[1:][:1]),
        lambda base: read_only(base.T),
        lambda base: np.broadcast_to(base, (2, 2, 3)),
        lambda base: np.frombuffer(memoryview(base).toreadonly(), base.dtype),
    ],
)
def test_a_tensor_does_not_follow_the_writable_base_of_a_read_only_view(any_backend, make, view):
    base = np.ones((2, 3), np.float32)
    tensor = make(view(base))
    base[:] = 9

    assert {1.0} == set(np.asarray(tensor).ravel().tolist())


def test_a_tensor_does_not_follow_what_is_made_writable_again(any_backend):
    array = read_only(np.ones(3, np.float32))
    tensor = tf.constant(array[:])
    array.flags.writeable = True
    with tf.device("CPU:0"):
        other = tf.constant(array)
    array[:] = 9

    assert [1.0] * 3 == np.asarray(other).tolist()
    assert (3,) == tensor.shape


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [2, 3, 7])
def test_a_mean_of_equal_tensors_is_one_of_them_and_of_whole_numbers_a_float(dtype, count):
    with tf.using("host", gpus=8):
        strategy = tf.distribute.MirroredStrategy([f"GPU:{index}" for index in range(count)])
        value = strategy.run(lambda: tf.constant(np.array([6, 0, 21]).astype(dtype)))
        mean = strategy.reduce("MEAN", value, axis=None)

    assert [6.0, 0.0, 21.0] == np.asarray(mean, np.float64).tolist()
    assert (tf.float64 if dtype.kind == "i" else dtype) == mean.dtype
