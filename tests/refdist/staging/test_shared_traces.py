"""Which calls of a function share a trace, and when a body is called again."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import refdist as tf

OPEN = [tf.TensorSpec([None, 2], tf.float32)]


def traced(make, **options):
    """A function, and what its body has got."""
    calls = []

    def body(*args):
        calls.append(args)
        return make(*args)

    return tf.function(body, **options), calls


def test_one_trace_is_for_all_sizes(any_backend):
    mean, calls = traced(lambda x: tf.reduce_mean(x) + tf.cast(tf.shape(x)[0], tf.float32), input_signature=OPEN)

    assert [2.0, 3.0, 5.0] == [float(mean(tf.ones([size, 2]))) for size in (1, 2, 4)]
    assert 1 == len(calls)


def test_a_body_that_has_to_know_the_size_is_called_for_each(any_backend):
    rows, calls = traced(lambda x: tf.constant(float(int(x.shape[0]))), input_signature=OPEN)

    assert [1.0, 2.0, 1.0] == [float(rows(tf.ones([size, 2]))) for size in (1, 2, 1)]
    assert 1 == rows.experimental_get_tracing_count()
    assert len(calls) >= 2


def test_no_elements_are_a_size_of_their_own(any_backend):
    first, calls = traced(lambda x: x[0] if x.shape[0] else tf.zeros([2]), input_signature=OPEN)

    assert [[1.0, 1.0], [0.0, 0.0]] == [np.asarray(first(tf.ones([size, 2]))).tolist() for size in (3, 0)]
    assert (1, 2) == (first.experimental_get_tracing_count(), len(calls))


def test_the_error_of_a_body_is_its_own(any_backend):
    def fail(x):
        raise KeyError("missing")

    with pytest.raises(KeyError, match="missing"):
        tf.function(fail, input_signature=OPEN)(tf.ones([1, 2]))


def test_sizes_that_were_equal_may_differ_later(any_backend):
    spec = tf.TensorSpec([None], tf.float32)
    total, _ = traced(lambda a, b: tf.reduce_sum(a) - tf.reduce_sum(b), input_signature=[spec, spec])

    assert [0.0, 2.0, -1.0] == [float(total(tf.ones([a]), tf.ones([b]))) for a, b in ((2, 2), (3, 1), (1, 2))]
    assert 1 == total.experimental_get_tracing_count()


def test_training_steps_on_batches_of_all_sizes_are_traced_once(names):
    strategy = tf.distribute.MirroredStrategy(names[:2])
    rows = np.random.default_rng(0).normal(size=(12, 2)).astype(np.float32)
    data = tf.data.Dataset.from_tensor_slices((rows, rows.sum(1)))
    with strategy.scope():
        weights = tf.Variable(np.zeros(2, np.float32), aggregation=tf.VariableAggregation.MEAN)

    def replica(x, y):
        loss, gradient = jax.value_and_grad(lambda w: jnp.mean((x @ w - y) ** 2))(jnp.asarray(weights.read_value()))
        weights.assign_sub(0.1 * gradient)
        return loss

    step, calls = traced(lambda iterator: strategy.run(replica, args=next(iterator)))
    found = []
    for size in (4, 6, 2, 4):
        step(iter(strategy.experimental_distribute_dataset(data.batch(size))))
        found.append(np.asarray(weights).tolist())
    weights.assign(np.zeros(2, np.float32))
    for size, expected in zip((4, 6, 2, 4), found, strict=True):
        strategy.run(replica, args=next(iter(strategy.experimental_distribute_dataset(data.batch(size)))))
        np.testing.assert_allclose(expected, np.asarray(weights), rtol=1e-5)

    assert (1, 1) == (len(calls), step.experimental_get_tracing_count())
