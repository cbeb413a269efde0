"""A watched tensor computes with JAX while a tape records, and is a tensor like any other otherwise."""

import jax.numpy as jnp
import numpy as np
import pytest

import refdist as tf
from refdist._core.devices.tensor import Tensor


@pytest.fixture
def x():
    tensor = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        tape.watch(tensor)
    return tensor


def test_outside_of_tapes_it_is_an_ordinary_tensor(x):
    for result in (x + 1.0, 2.0 * x, x @ x, -x, x[0], np.exp(x), x.sum(), x.T, x > 1.0, np.float32(2) * x):
        assert isinstance(result, Tensor)
    assert str(x) == str(tf.constant([[1.0, 2.0], [3.0, 4.0]]))
    assert x.device.endswith("CPU:0")
    assert jnp.asarray(x).tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_it_stays_the_same_object_and_the_same_numbers(x):
    assert x.numpy().tolist() == [[1.0, 2.0], [3.0, 4.0]]
    with pytest.raises(TypeError, match="immutable"):
        x[0] = 1.0


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: x.T @ x,
        lambda x: np.exp(x),
        lambda x: np.float32(2) * x,
        lambda x: x.reshape(4),
        lambda x: x.mean(),
        lambda x: jnp.sin(x),
        lambda x: x.transpose(),
        lambda x: x[1, 0] * x[0, 1],
    ],
)
def test_the_tape_sees_what_is_done_with_it(operation):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = operation(x)

    np.testing.assert_allclose(np.asarray(y), operation(np.asarray(x)), rtol=1e-6)
    assert tape.gradient(y, x) is not None


def test_two_tapes_may_watch_one_tensor():
    x = tf.constant(3.0)
    with tf.GradientTape() as outer, tf.GradientTape() as inner:
        outer.watch(x)
        inner.watch(x)
        y = x * x

    assert float(inner.gradient(y, x)) == float(outer.gradient(y, x)) == 6.0


def test_a_layer_of_keras_has_a_gradient_with_respect_to_its_input():
    layer = tf.keras.layers.Dense(1, kernel_initializer="ones")
    layer.build((None, 3))
    x = tf.constant([[1.0, 2.0, 3.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = layer(x) ** 2

    assert tape.gradient(y, x).numpy().tolist() == [[12.0, 12.0, 12.0]]
