"""Workers that share a process do not share what Keras keeps for it."""

import numpy as np

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
