"""A tape watches a variable of Keras when it is told to watch its value, in replicas as outside. As TensorFlow 2.21 answers."""

import numpy as np
import pytest

import refdist as tf


def layer():
    made = tf.keras.layers.Dense(2, kernel_initializer="ones")
    made.build((None, 3))
    return made


@pytest.mark.parametrize("around", [lambda step: step, tf.function], ids=["eager", "staged"])
def test_the_value_stands_for_the_variable_in_replicas(any_backend, names, around):
    strategy = tf.distribute.MirroredStrategy(names[:2])
    with strategy.scope():
        model = layer()

    def in_replica():
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch([one.value for one in model.trainable_variables])
            loss = tf.reduce_sum(model(tf.ones([2, 3])))
        return tape.gradient(loss, model.trainable_variables)

    kernel, bias = around(lambda: strategy.run(in_replica))()

    for index in range(2):
        assert [[2.0, 2.0]] * 3 == np.asarray(strategy.experimental_local_results(kernel)[index]).tolist()
        assert [2.0, 2.0] == np.asarray(strategy.experimental_local_results(bias)[index]).tolist()


def test_what_is_computed_with_the_value_counts_too(any_backend, names):
    strategy = tf.distribute.MirroredStrategy(names[:2])
    with strategy.scope():
        model = layer()

    def in_replica():
        with tf.GradientTape(watch_accessed_variables=False, persistent=True) as tape:
            kernel = model.kernel.value
            tape.watch(kernel)
            loss = tf.reduce_sum(model(tf.ones([2, 3]))) + tf.reduce_sum(kernel * kernel)
        return tape.gradient(loss, kernel), tape.gradient(loss, model.kernel), tape.gradient(loss, model.bias)

    *kernels, bias = strategy.run(in_replica)

    assert bias is None
    for kernel in kernels:
        assert [[4.0, 4.0]] * 3 == np.asarray(strategy.experimental_local_results(kernel)[0]).tolist()
