import numpy as np
import pytest

import refdist as tf


@pytest.mark.parametrize("name", ["StringLookup", "IntegerLookup", "TextVectorization", "Hashing"])
def test_layers_of_text_say_what_to_use_instead(name):
    given = {"num_bins": 3} if name == "Hashing" else {}
    with pytest.raises(ImportError, match=rf"layers\.{name} .*TensorFlow only; expected .*\. Use "):
        getattr(tf.keras.layers, name)(**given)


def test_what_keras_does_with_tensorflow_says_what_to_use_instead():
    with pytest.raises(ImportError, match=r"not here; expected .*\. Use tf\.data"):
        tf.keras.utils.timeseries_dataset_from_array(np.arange(3.0), None, 2)
    with pytest.raises(ImportError, match=r"Keras 2; expected .*\. Use the one"):
        tf.keras.optimizers.legacy.Adam(0.1)


def test_the_old_functions_compute_with_those_of_today():
    backend, variable = tf.keras.backend, tf.keras.Variable([1.0, 3.0])
    backend.set_value(variable, [2.0, 4.0])

    assert 3.0 == backend.get_value(backend.mean(variable))
    assert [20.0] == backend.sum(backend.square(tf.constant([[2.0, 4.0]])), axis=-1).numpy().tolist()
    assert ((2,), 1) == (backend.int_shape(variable), backend.ndim(variable))
    assert [4.0, 2.0] == backend.gather(variable, [1, 0]).numpy().tolist()
    assert 1e-7 == backend.epsilon()
