import numpy as np
import pytest

import refdist as tf

ROWS = np.random.RandomState(0).normal(size=(2, 3, 4)).astype("float32")


@pytest.fixture(params=["simulator", "jax"])
def strategy(request):
    with tf.using(request.param, cpus=2):
        yield tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def loss_and_gradients(layer):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(ROWS) ** 2)
    return [loss, *tape.gradient(loss, layer.trainable_variables)]


def test_a_recurrent_layer_computes_the_same_eagerly_and_staged(strategy):
    with strategy.scope():
        layer = tf.keras.layers.LSTM(3)
        layer(ROWS)  # which makes its variables

    def step():
        return loss_and_gradients(layer)

    outside = [np.asarray(one) for one in loss_and_gradients(layer)]
    eager = strategy.run(step)
    staged = tf.function(lambda: strategy.run(step))()

    for run in (eager, staged):
        for expected, got in zip(outside, run, strict=True):
            for part in strategy.experimental_local_results(got):
                np.testing.assert_allclose(np.asarray(part), expected, rtol=1e-4, atol=1e-6)


def test_a_loop_sees_what_was_written_before_it(strategy):
    with strategy.scope():
        layer = tf.keras.layers.SimpleRNN(2, stateful=True)
        first, second = np.asarray(layer(ROWS)), np.asarray(layer(ROWS))
        layer.reset_state()
        again = np.asarray(layer(ROWS))
        layer.set_weights([np.zeros_like(one) for one in layer.get_weights()])
        zeros = np.asarray(layer(ROWS))

    assert not np.allclose(first, second)
    np.testing.assert_allclose(again, first, rtol=1e-5)
    assert not zeros.any()
