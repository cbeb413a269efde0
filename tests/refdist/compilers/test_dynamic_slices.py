"""A slice of a known length may begin at a tensor. What TensorFlow 2.21 answers is written into the tests."""

import jax
import numpy as np
import pytest

import refdist as tf


@pytest.fixture(autouse=True, params=["simulator", "jax"])
def backend(request):
    with tf.using(request.param, cpus=2):
        yield request.param


def rows():
    return tf.reshape(tf.range(12.0), [6, 2])


@pytest.mark.parametrize(
    ("take", "number", "expected"),
    [
        (lambda x, i: x[2 * i : 2 * i + 2], 1, [[4, 5], [6, 7]]),
        (lambda x, i: x[2 * i : 2 * (i + 1)], 2, [[8, 9], [10, 11]]),
        (lambda x, i: x[i - 1 : 1 + i, 1:], 4, [[7], [9]]),
        (lambda x, i: x[:, i : i + 1], 0, [[0], [2], [4], [6], [8], [10]]),
        (lambda x, i: x[..., i : i + 1, tf.newaxis][:2], 1, [[[1]], [[3]]]),
        (lambda x, i: x[-i : 3 - i], 0, [[0, 1], [2, 3], [4, 5]]),
        (lambda x, i: x[i:i], 3, []),
        (lambda x, i: x[tf.identity(i) : tf.add(i, 1)], 3, [[6, 7]]),
    ],
)
def test_a_slice_of_a_known_length_begins_at_a_tensor(take, number, expected):
    found = tf.function(take)(rows(), tf.constant(number))

    assert expected == np.asarray(found).tolist()


def test_micro_batches_are_taken_in_a_loop_of_the_program():
    @tf.function
    def weighed(x):
        total = tf.zeros([2])
        for i in tf.range(3):
            total += x[i * 2 : (i + 1) * 2] * tf.cast(i + 1, tf.float32)
        return total

    assert [16.0, 22.0] == np.asarray(weighed(tf.range(6.0))).tolist()


def test_a_gradient_goes_through_the_slice():
    @tf.function
    def gradient(x, i):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(x[i : i + 2] ** 2)
        return tape.gradient(loss, x)

    assert [0.0, 0.0, 4.0, 6.0, 0.0, 0.0] == np.asarray(gradient(tf.range(6.0), tf.constant(2))).tolist()


def test_each_replica_has_its_own_slice():
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    numbers = strategy.experimental_distribute_values_from_function(
        lambda one: tf.constant(one.replica_id_in_sync_group)
    )
    data = tf.range(6.0)

    @tf.function
    def step(numbers, data):
        return strategy.run(lambda i, x: x[2 * i : 2 * i + 2], args=(numbers, data))

    found = strategy.experimental_local_results(step(numbers, data))

    assert [[0.0, 1.0], [2.0, 3.0]] == [np.asarray(one).tolist() for one in found]


@pytest.mark.parametrize("number", [-1, 5, 2**31 - 1])
def test_a_slice_that_does_not_lie_in_the_tensor_is_an_error(number):
    with pytest.raises(tf.errors.InvalidArgumentError, match="Pad the tensor"):
        tf.function(lambda x, i: x[i : i + 2])(rows(), tf.constant(number))


def test_a_slice_longer_than_the_tensor_is_an_error():
    with pytest.raises(tf.errors.InvalidArgumentError, match="length 7 of a dimension of size 6"):
        tf.function(lambda x, i: x[i : i + 7])(rows(), tf.constant(0))


def test_a_loop_that_goes_beyond_the_tensor_is_an_error():
    @tf.function
    def last(x):
        found = x[:2]
        for i in tf.range(6):
            found = x[i : i + 2]
        return found

    with pytest.raises(tf.errors.InvalidArgumentError, match="Pad the tensor"):
        last(tf.range(6.0))


@pytest.mark.parametrize("dtype", [tf.float32, tf.int32, tf.bool])
def test_in_a_loop_of_jax_what_does_not_lie_in_the_tensor_is_no_number(dtype):
    @tf.function
    def last(x):
        return jax.lax.fori_loop(0, 6, lambda i, found: x[i : i + 2], x[:2])

    found = np.asarray(last(tf.ones([6], dtype)))

    assert np.isnan(found).all() if dtype == tf.float32 else not (found > 0).any()


@pytest.mark.parametrize(
    "take",
    [
        lambda x, i, j: x[:i],
        lambda x, i, j: x[i:],
        lambda x, i, j: x[i:j],
        lambda x, i, j: x[i : 2 * i],
        lambda x, i, j: x[i : i * j],
        lambda x, i, j: x[i : i + 4 : 2],
        lambda x, i, j: x[tf.cast(i, tf.int8) : tf.cast(i + 2, tf.int8)],  # which may be another difference
    ],
)
def test_a_length_that_is_not_known_is_an_error_that_says_what_to_write(take):
    with pytest.raises(tf.errors.UnimplementedError, match=r"x\[start:start \+ length\]"):
        tf.function(take)(rows(), tf.constant(1), tf.constant(2))
