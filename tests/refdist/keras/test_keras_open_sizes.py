import numpy as np
import pytest

import refdist as tf

COMPUTED_FROM_SIZES = {
    "zeros": (lambda x: x + tf.zeros([tf.shape(x)[0], 3]), (None, 3)),
    "noise": (lambda x: x + 0 * tf.random.normal(tf.shape(x)), (None, 3)),
    "reshape": (lambda x: tf.reshape(x, [tf.shape(x)[0], 3, 1]), (None, 3, 1)),
    "halves": (lambda x: tf.reshape(x, [tf.shape(x)[0] // 2, 6]), (None, 6)),
    "tile": (lambda x: tf.tile(tf.constant([[1.0, 2.0]]), [tf.shape(x)[0], 1]), (None, 2)),
    "range": (lambda x: x + tf.cast(tf.range(tf.shape(x)[1]), tf.float32), (None, 3)),
    "python": (lambda x: x if tf.shape(x)[1] > 2 else tf.zeros([1]), (None, 3)),
}


def layer_of(function):
    class Layer(tf.keras.layers.Layer):
        def call(self, inputs):
            return function(inputs)

    return Layer()


@pytest.fixture(autouse=True, params=["simulator", "jax"])
def backend(request):
    with tf.using(request.param, cpus=1):
        yield


@pytest.mark.parametrize("name", COMPUTED_FROM_SIZES)
def test_a_model_is_made_of_layers_that_compute_with_the_size_of_the_batch(name):
    function, shape = COMPUTED_FROM_SIZES[name]
    model = tf.keras.Sequential([tf.keras.Input([3]), layer_of(function)])
    rows = np.arange(12, dtype=np.float32).reshape(4, 3)

    assert model.output_shape == shape
    np.testing.assert_array_equal(model(rows), function(tf.constant(rows)))


def test_an_error_of_a_layer_keeps_the_sizes_that_the_user_wrote():
    layer = layer_of(lambda x: tf.reshape(x, [-1, 3]) + tf.ones([5]))

    with pytest.raises(Exception) as caught:
        layer(tf.keras.Input([3]))

    assert "720" not in str(caught.value)
    assert "5" in str(caught.value)
