"""What losses are made of: their laws, large numbers, and how averages over replicas add up."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators
from hypothesis.extra import numpy as arrays

import refdist as tf

nn, sparse_loss = tf.nn, tf.nn.sparse_softmax_cross_entropy_with_logits
InvalidArgumentError = tf.errors.InvalidArgumentError
logits = arrays.arrays(
    np.float32, arrays.array_shapes(min_dims=2, max_dims=3, max_side=4), elements=generators.floats(-50, 50, width=32)
)


def near(first, second):
    np.testing.assert_allclose(np.asarray(first), np.asarray(second), rtol=1e-4, atol=1e-4)


@pytest.fixture(autouse=True)
def host():
    with tf.using("host"):
        yield


@given(x=logits, axis=generators.sampled_from([None, 0, -1]), shift=generators.integers(-100, 100))
@settings(max_examples=30)
def test_probabilities_add_up_to_one_and_do_not_change_with_a_shift(x, axis, shift):
    probabilities = nn.softmax(x, axis)
    last = -1 if axis is None else axis

    near(np.ones_like(x.sum(last)), tf.reduce_sum(probabilities, axis=last))
    near(probabilities, nn.softmax(x + np.float32(shift), axis))
    near(probabilities, tf.exp(nn.log_softmax(x, axis)))


def test_large_logits_neither_overflow_nor_lose_the_loss():
    large = np.float32([[1000, -1000], [-1000, -1000]])

    assert [[1, 0], [0.5, 0.5]] == nn.softmax(large).tolist()
    assert [0.0, np.float32(np.log(2))] == nn.sparse_softmax_cross_entropy_with_logits([0, 1], large).tolist()
    assert 2000.0 == float(nn.sparse_softmax_cross_entropy_with_logits([1], large[:1])[0])
    assert 1000.0 == float(tf.reduce_logsumexp(np.float32([1000, -1000])))
    assert [1000.0, 0.0] == nn.sigmoid_cross_entropy_with_logits(np.float32([0, 1]), np.float32([1000, 1000])).tolist()


@given(x=logits, data=generators.data())
@settings(max_examples=30)
def test_a_class_and_a_probability_of_one_for_it_have_the_same_loss(x, data):
    classes = data.draw(arrays.arrays(np.int32, x.shape[:-1], elements=generators.integers(0, x.shape[-1] - 1)))
    sparse = nn.sparse_softmax_cross_entropy_with_logits(classes, x)

    assert x.shape[:-1] == sparse.shape
    near(sparse, nn.softmax_cross_entropy_with_logits(tf.one_hot(classes, x.shape[-1]), x))


@given(x=logits, data=generators.data())
@settings(max_examples=30)
def test_the_loss_of_two_classes_is_that_of_their_probability(x, data):
    wanted = data.draw(arrays.arrays(np.float32, x.shape, elements=generators.floats(0, 1, width=32)))
    both = np.stack([np.zeros_like(x), x], axis=-1)
    probabilities = np.stack([1 - wanted, wanted], axis=-1)

    near(nn.softmax_cross_entropy_with_logits(probabilities, both), nn.sigmoid_cross_entropy_with_logits(wanted, x))


@given(x=logits, axis=generators.sampled_from([None, 0, -1]), keepdims=generators.booleans())
@settings(max_examples=30)
def test_means_and_variances_are_those_of_numpy(x, axis, keepdims):
    near(np.var(x, axis, keepdims=keepdims), tf.math.reduce_variance(x, axis, keepdims))
    near(np.std(x, axis, keepdims=keepdims), tf.math.reduce_std(x, axis, keepdims))
    shifted = x - x.max(axis, keepdims=True)
    total = np.log(np.exp(shifted).sum(axis, keepdims=keepdims)) + (x.max(axis, keepdims=keepdims))
    near(total, tf.reduce_logsumexp(x, axis, keepdims))
    along = [0] if axis is None else [axis]
    for found, expected in zip(nn.moments(x, along, keepdims=keepdims), (np.mean, np.var), strict=True):
        near(expected(x, tuple(along), keepdims=keepdims), found)


def test_half_the_sum_of_squares_and_nothing_below_zero():
    assert 12.5 == float(nn.l2_loss([3.0, -4.0]))
    assert [0.0, 0.0, 2.0] == nn.relu([-1.0, 0.0, 2.0]).tolist()
    assert [0, 3] == nn.relu([-3, 3]).tolist()


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: sparse_loss([[0]], [[1.0, 2.0]]), InvalidArgumentError, r"labels of shape \(1, 1\)"),
        (lambda: sparse_loss([0.0], [[1.0, 2.0]]), InvalidArgumentError, "dtype float32 .* one integer"),
        (lambda: sparse_loss([2], [[1.0, 2.0]]), InvalidArgumentError, "indices beyond 0 to 1"),
        (lambda: nn.sigmoid_cross_entropy_with_logits([1.0], [[1.0]]), ValueError, r"shape \(1,\) and logits of shape \(1, 1\)"),
        (lambda: nn.l2_loss([1, 2]), TypeError, "dtype int32; expected floats"),
        (lambda: tf.math.reduce_variance([1, 2]), TypeError, "dtype int32; expected floats"),
        (lambda: nn.compute_average_loss(1.0), ValueError, "got a scalar as per_example_loss"),
        (lambda: nn.compute_average_loss([1.0], global_batch_size=1.5), TypeError, "expected one integer"),
        (lambda: nn.compute_average_loss([1.0], global_batch_size=[1]), ValueError, "expected one integer"),
        (lambda: nn.compute_average_loss([1.0], global_batch_size=-2), ValueError, "expected a positive number"),
    ],
)  # fmt: skip
def test_what_makes_no_loss_is_refused(wrong, error, message):
    with pytest.raises(error, match=message):
        wrong()


@given(
    losses=generators.lists(generators.floats(-9, 9, width=32), min_size=1, max_size=4),
    count=generators.integers(1, 4),
    weighted=generators.booleans(),
)
@settings(max_examples=20)
def test_the_losses_of_all_replicas_add_up_to_the_average_of_all_examples(losses, count, weighted):
    with tf.using("host", gpus=count):
        strategy = tf.distribute.MirroredStrategy()
    weights = np.arange(len(losses), dtype=np.float32) if weighted else None
    own = strategy.run(lambda: nn.compute_average_loss(tf.constant(losses), weights))
    told = strategy.run(
        lambda: nn.compute_average_loss(tf.constant(losses), weights, global_batch_size=count * len(losses))
    )
    expected = np.mean(np.float32(losses) * (1 if weights is None else weights))

    near(expected, strategy.reduce("SUM", own, axis=None))
    near(expected, strategy.reduce("SUM", told, axis=None))


def test_a_weight_of_an_example_counts_for_all_that_the_example_has():
    losses, weights = np.float32([[1, 2], [3, 4]]), [10.0, 1.0]

    assert (10 * 3 + 7) / 2 == float(nn.compute_average_loss(losses, weights))
    assert 7 / 2 == float(nn.compute_average_loss(losses, [0, 1])), "weights may be integers"


@pytest.mark.parametrize("count", [1, 3])
def test_a_loss_that_does_not_depend_on_examples_counts_once(count):
    with tf.using("host", gpus=count):
        strategy = tf.distribute.MirroredStrategy()
    scaled = strategy.run(lambda: nn.scale_regularization_loss([1.0, 5.0]))

    near(6.0, strategy.reduce("SUM", scaled, axis=None))
