"""What the tests of Keras share: small models, and what becomes of them in training."""

import functools

import numpy as np

import refdist as tf

INPUTS = np.random.default_rng(0).normal(size=(10, 3)).astype(np.float32)
TARGETS = INPUTS.sum(1, keepdims=True) ** 2


def compiled(*layers, **options):
    """Make a model of these layers, always with the same weights."""
    keras = tf.keras
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((3,)), *layers, keras.layers.Dense(1)])
    model.compile(**{"optimizer": keras.optimizers.SGD(0.1, momentum=0.5), "loss": "mse", **options})
    return model


def made(strategy, make=compiled):
    """Make a model in the scope of a strategy."""
    with strategy.scope():
        return make()


def trained(model, batch):
    """Train, and return the numbers of each epoch and the weights."""
    history = model.fit(INPUTS, TARGETS, batch_size=batch, epochs=2, shuffle=False, verbose=0).history
    return {**history, **{f"weight {number}": weight for number, weight in enumerate(model.get_weights())}}


def numbers(model, batch):
    """Train, evaluate and predict, and return all numbers."""
    return {
        **trained(model, batch),
        "evaluate": model.evaluate(INPUTS, TARGETS, batch_size=batch, verbose=0),
        "predict": model.predict(INPUTS, batch_size=batch, verbose=0),
    }


@functools.cache
def alone(make, batch, do):
    """The numbers of the same model without a strategy."""
    with tf.using("host"):
        return do(make(), batch)


def assert_close(expected, actual):
    assert list(expected) == list(actual)
    for name, value in expected.items():
        np.testing.assert_allclose(actual[name], value, rtol=1e-4, atol=1e-5, err_msg=name)
