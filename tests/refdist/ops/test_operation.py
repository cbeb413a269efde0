import jax
import numpy as np
import pytest

import refdist as tf

SHAPES = {
    "zeros": (lambda x: tf.zeros([tf.shape(x)[0], 4]), (2, 4)),
    "reshape": (lambda x: tf.reshape(x, [tf.shape(x)[0], -1]), (2, 3)),
    "range": (lambda x: tf.range(tf.shape(x)[0]), (2,)),
    "arithmetic": (lambda x: tf.zeros([tf.shape(x)[0] * 2, 7 - tf.shape(x)[1] // 2]), (4, 6)),
    "concat": (lambda x: tf.reshape(x, tf.concat([tf.shape(x)[:-1], [3, 1]], 0)), (2, 3, 1)),
    "product": (lambda x: tf.reshape(x, [tf.reduce_prod(tf.shape(x))]), (6,)),
    "unstack": (lambda x: tf.ones(tf.unstack(tf.shape(x))[::-1]), (3, 2)),
    "iteration": (lambda x: tf.ones([size + 1 for size in tf.shape(x)]), (3, 4)),
    "maximum": (lambda x: tf.zeros([tf.maximum(tf.shape(x)[0], 5)]), (5,)),
    "decision": (lambda x: x if tf.shape(x)[0] > 1 else x[0], (2, 3)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_function_computes_shapes_with_the_sizes_of_its_tensors(any_backend, name):
    function, shape = SHAPES[name]

    assert shape == tf.function(function)(tf.constant(np.ones((2, 3), np.float32))).shape


def test_what_depends_on_an_argument_is_not_known(any_backend):
    found = tf.function(lambda x, n: tf.shape(x)[0] * n + n[0])(tf.constant([1.0, 2.0]), tf.constant([3, 4]))

    assert [9, 11] == np.asarray(found).tolist()


def test_an_operation_on_tensors_of_keras_is_a_part_of_the_model():
    given = tf.keras.Input((4, 3))
    mean = tf.reduce_mean(given, axis=1)
    joined = tf.expand_dims(tf.concat([mean, tf.sqrt(mean + 3.0)], axis=-1), 1)
    model = tf.keras.Model(given, joined)

    assert (None, 1, 6) == joined.shape
    assert [[[1, 1, 1, 2, 2, 2]]] == np.asarray(model(np.ones((1, 4, 3), np.float32))).tolist()


def test_axes_and_shapes_of_an_operation_on_tensors_of_keras_stay_known():
    given = tf.keras.Input((4, 3))
    mean = tf.reduce_mean(given, [1, 2], keepdims=True)
    model = tf.keras.Model(given, tf.reshape(given * tf.tile(mean, [1, 4, 3]), shape=[-1, 12]))

    assert (None, 12) == model.output_shape
    assert [[4.0] * 12] == np.asarray(model(np.full((1, 4, 3), 2, np.float32))).tolist()


@pytest.mark.parametrize("name", SHAPES)
def test_a_program_of_jax_computes_shapes_with_the_sizes_of_its_tensors(any_backend, name):
    function, shape = SHAPES[name]

    assert shape == jax.eval_shape(function, jax.ShapeDtypeStruct((2, 3), np.float32)).shape
