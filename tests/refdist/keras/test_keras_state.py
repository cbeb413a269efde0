"""Workers that share a process do not share what Keras keeps for it."""

import numpy as np
import pytest

import refdist as tf


def named_and_drawn():
    keras = tf.keras
    keras.utils.set_random_seed(3)
    model = keras.Sequential(
        [keras.Input((3,)), keras.layers.Dense(2), keras.layers.Dropout(0.5), keras.layers.Dense(1)]
    )
    seeds = [
        np.asarray(layer.seed_generator.state).tolist() for layer in model.layers if layer.name.startswith("dropout")
    ]
    return [layer.name for layer in model.layers], [weight.tolist() for weight in model.get_weights()], seeds


def test_each_worker_has_the_names_and_the_random_numbers_of_one_that_is_alone():
    tf.keras.layers.Dense(1)  # takes a name before

    def worker(_):
        with tf.distribute.MultiWorkerMirroredStrategy().scope():
            return named_and_drawn()

    with tf.using("simulator", gpus=1):
        first, second = tf.cluster.run_workers(worker, count=2)

    assert first == second == named_and_drawn()


def test_workers_without_a_seed_start_from_one_state():
    def worker(_):
        tf.keras.random.SeedGenerator()
        return tf.keras.random.SeedGenerator().state.numpy().tolist()

    with tf.using("simulator", gpus=1):
        first, second = tf.cluster.run_workers(worker, count=2)

    assert first == second


@pytest.mark.parametrize("backend", ["simulator", "jax"])
def test_a_model_whose_call_is_a_function_has_its_variables_after_the_first_call(backend):
    keras = tf.keras

    class Critic(keras.Model):
        def __init__(self):
            super().__init__()
            self.inner = keras.layers.Dense(3, kernel_initializer="ones")
            self.normalize = keras.layers.BatchNormalization()
            self.outer = keras.layers.Dense(1, kernel_initializer="ones")

        @tf.function
        def call(self, x, training=False):
            return self.outer(self.normalize(self.inner(x), training=training))

    with tf.using(backend, cpus=1):
        critic, x = Critic(), tf.reshape(tf.range(12.0), [4, 3])
        before = np.ravel(critic(x))
        in_training = np.ravel(critic(x, training=True))
        statistics = [np.asarray(one.read_value()) for one in critic.normalize.non_trainable_variables]

    # What TensorFlow answers.
    np.testing.assert_allclose(before, [8.995504, 35.982018, 62.96852, 89.95503], rtol=1e-5)
    np.testing.assert_allclose(in_training, [-4.0249023, -1.3416342, 1.3416345, 4.0249028], rtol=1e-5)
    np.testing.assert_allclose(statistics, [[0.165] * 3, [2.0025] * 3], rtol=1e-5)
