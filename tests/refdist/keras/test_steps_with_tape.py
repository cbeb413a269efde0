"""Steps of models that are written for TensorFlow: they take a batch, use a tape, and update variables themselves."""

import numpy as np
import pytest

import refdist as tf
from tests.refdist.keras.models import INPUTS, TARGETS, made


@pytest.fixture
def strategy():
    with tf.using("simulator", cpus=2):
        yield tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def with_tape():
    class Model(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = tf.keras.layers.Dense(1, kernel_initializer="ones")
            self.seen = tf.keras.metrics.Sum(name="seen")

        def call(self, x, training=False):
            return self.dense(x)

        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = self.compute_loss(y=y, y_pred=self(x, training=True))
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
            self.seen.update_state(tf.ones_like(y))
            return {"loss": loss, "seen": self.seen.result()}

        def test_step(self, data):
            x, y = data
            return {"error": tf.reduce_mean(tf.abs(self(x) - y))}

    return Model()


def trained(model, batch):
    history = model.fit(INPUTS, TARGETS, batch_size=batch, epochs=2, shuffle=False, verbose=0).history
    return [history["seen"][-1], model.evaluate(INPUTS[:4], TARGETS[:4], verbose=0), *model.get_weights()]


@pytest.mark.parametrize("eager", [False, True])
def test_they_run_on_the_replicas(strategy, eager):
    models = made(strategy, with_tape), with_tape()
    for model in models:
        model.compile(optimizer=tf.keras.optimizers.SGD(0.01), loss="mse", run_eagerly=eager)
    (seen, *actual), (_, *expected) = (trained(model, 10) for model in models)

    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    assert 10 == seen


def test_a_replica_without_rows_adds_nothing(strategy):
    model = made(strategy, with_tape)
    model.compile(optimizer=tf.keras.optimizers.SGD(0.01), loss=tf.keras.losses.MeanSquaredError(reduction="sum"))
    model.fit(INPUTS[:1], TARGETS[:1], verbose=0)
    slope = 2 * (INPUTS[:1].sum() - TARGETS[0]) * INPUTS[0]

    np.testing.assert_allclose(model.get_weights()[0][:, 0], 1 - 0.01 * slope, rtol=1e-5)
    assert 1 == float(model.seen.result())


def test_a_model_of_two_models_has_two_optimizers(strategy):
    class Pair(tf.keras.Model):
        def __init__(self, first, second):
            super().__init__()
            self.first, self.second = first, second

        def compile(self, first_optimizer, second_optimizer):
            super().compile()
            self.optimizers = first_optimizer, second_optimizer

        def train_step(self, rows):
            with tf.GradientTape(persistent=True) as tape:
                losses = [tf.reduce_sum(tf.square(one(rows))) for one in (self.first, self.second)]
            for one, loss, optimizer in zip((self.first, self.second), losses, self.optimizers, strict=True):
                gradients = tape.gradient(loss, one.trainable_variables)
                optimizer.apply_gradients(zip(gradients, one.trainable_variables, strict=True))
            return {"first": losses[0], "second": losses[1]}

    def dense():
        return tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(1, kernel_initializer="ones")])

    with strategy.scope():
        pair = Pair(dense(), dense())
        pair.compile(tf.keras.optimizers.SGD(0.01), tf.keras.optimizers.SGD(0.02))
    history = pair.fit(tf.data.Dataset.from_tensor_slices(INPUTS).batch(10), epochs=2, verbose=0).history
    change = 2 * (INPUTS * INPUTS.sum(1, keepdims=True)).sum(0)

    # The mean of what the two replicas have summed up.
    assert (INPUTS.sum(1) ** 2).sum() / 2 == pytest.approx(history["first"][0], rel=1e-5)
    assert history["first"][1] < history["first"][0]
    once = dense()
    once.set_weights([1 - 0.01 * change[:, None], -0.01 * 2 * INPUTS.sum(keepdims=True)[0]])
    assert (np.asarray(once(INPUTS)) ** 2).sum() / 2 == pytest.approx(history["first"][1], rel=1e-4)
