import numpy as np
import pytest

import refdist as tf

ROWS = np.random.RandomState(0).normal(size=(8, 3)).astype("float32") * [1, 2, 3] + [0, 1, 2]


@pytest.fixture(params=["simulator", "jax"])
def strategy(request):
    with tf.using(request.param, cpus=2):
        yield tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def normalized(rows):
    return (rows - rows.mean(0)) / np.sqrt(rows.var(0) + 1e-3)


@pytest.mark.parametrize("staged", [False, True], ids=["eager", "staged"])
@pytest.mark.parametrize("synchronized", [False, True])
def test_statistics_are_those_of_the_replica_or_of_all(strategy, staged, synchronized):
    with strategy.scope():
        layer = tf.keras.layers.BatchNormalization(momentum=0.5, synchronized=synchronized)
        layer.build((None, 3))
    (batch,) = strategy.experimental_distribute_dataset(
        tf.data.Dataset.from_tensor_slices(ROWS.astype("float32")).batch(8)
    )

    def step(rows):
        return strategy.run(lambda own: layer(own, training=True), args=(rows,))

    parts = strategy.experimental_local_results((tf.function(step) if staged else step)(batch))
    halves = np.split(ROWS, 2)
    expected = np.split(normalized(ROWS), 2) if synchronized else [normalized(half) for half in halves]
    own_means = [half.mean(0) / 2 for half in halves]
    means = [ROWS.mean(0) / 2] * 2 if synchronized else own_means

    np.testing.assert_allclose([np.asarray(part) for part in parts], expected, rtol=1e-3, atol=1e-4)
    # Each replica goes on with its own moving average; outside there is that of the first, as in TensorFlow.
    own = strategy.run(lambda: layer.moving_mean * 1.0)
    np.testing.assert_allclose(strategy.experimental_local_results(own), means, rtol=1e-4)
    np.testing.assert_allclose(layer.moving_mean.numpy(), means[0], rtol=1e-4)


def test_a_layer_with_common_statistics_can_be_made_again():
    layer = tf.keras.layers.BatchNormalization(synchronized=True, epsilon=0.5)
    again = tf.keras.layers.BatchNormalization.from_config(layer.get_config())

    assert (True, 0.5) == (again.synchronized, again.epsilon)
