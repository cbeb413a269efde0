"""The mean of integers, with TensorFlow 2.21's answers."""

import numpy as np
import pytest

import refdist as tf

# dtype, numbers, and what TensorFlow says.
MEANS = [
    ("int8", [100, 100], 100),
    ("int8", [-128, -128, -127], -127),
    ("uint8", [200, 201], 200),
    ("int16", [32767, 32766, 1], 21844),
    ("int32", [-3, -4], -3),
    ("int32", [1, 2**31 - 2], 1073741823),
    ("int32", [2**31 - 1, 2**31 - 1], 2**31 - 1),
    ("int32", [2**31 - 1, 1, 1], 715827883),
    ("int32", [-(2**31), -(2**31), -(2**31) + 1], -2147483647),
    ("int32", [[2**31 - 1, 2**31 - 1], [3, 4]], 1073741825),
]
WIDE = [
    ("int64", [1, 2**63 - 2], 4611686018427387903),
    ("int64", [2**63 - 1, 2**63 - 1], -1),
    ("int64", [-1, -(2**63) + 3], -4611686018427387903),
]
modes = pytest.mark.parametrize("around", [lambda fn: fn, tf.function], ids=["eager", "function"])


@modes
@pytest.mark.parametrize(("dtype", "numbers", "expected"), MEANS)
def test_sums_do_not_wrap_around_and_quotients_are_cut_off_towards_zero(any_backend, around, dtype, numbers, expected):
    mean = around(tf.reduce_mean)(tf.constant(np.array(numbers, dtype)))

    assert (dtype, expected) == (mean.dtype.name, int(mean))


@modes
@pytest.mark.parametrize(("dtype", "numbers", "expected"), WIDE)
def test_64_bits_are_exact(around, dtype, numbers, expected):
    assert expected == int(around(tf.reduce_mean)(tf.constant(np.array(numbers, dtype))))


@modes
def test_dimensions_are_kept_where_asked(any_backend, around):
    x = tf.constant(np.array([[7, 8], [8, 9]], np.int32))

    assert [[7], [8]] == np.asarray(around(lambda: tf.reduce_mean(x, axis=1, keepdims=True))()).tolist()
    assert [7, 8] == np.asarray(around(lambda: tf.reduce_mean(x, axis=0))()).tolist()
    assert 8 == int(around(lambda: tf.reduce_mean(x, axis=[0, 1]))())


@modes
def test_more_than_32_bits_can_hold_is_refused_on_jax(around):
    with tf.using("jax", cpus=1):
        assert 200 == int(around(tf.reduce_mean)(tf.constant(np.full(100_000, 200, np.uint8))))
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"100000 numbers of int32 .* expected at most 46340"):
            around(tf.reduce_mean)(tf.constant(np.full(100_000, 2, np.int32)))
