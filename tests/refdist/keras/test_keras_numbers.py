import numpy as np
import pytest

import refdist as tf

# What keras.ops.convert_to_tensor() makes of them in TensorFlow 2.21.
DTYPES = [
    (1, "int32"),
    (1.0, "float32"),
    ([1.0], "float32"),
    ([1], "int32"),
    ([1, 2.0], "float32"),
    ([], "float32"),
    (True, "bool"),
    (np.float64(1), "float64"),
    (np.ones(2), "float64"),
]


def in_a_program_of_64_bits(fn):
    results = []
    with tf.using("simulator", cpus=1):
        wide = tf.Variable(3, dtype=tf.int64)

        @tf.function
        def program():
            results.append(fn(wide))
            return wide + 1

        program()
    return results[-1]


@pytest.mark.parametrize(("number", "dtype"), DTYPES)
def test_numbers_of_python_have_32_bits_beside_tensors_of_64(number, dtype):
    assert dtype == in_a_program_of_64_bits(lambda _: str(tf.keras.ops.convert_to_tensor(number).dtype))


def test_operations_and_schedules_keep_to_it():
    schedule = tf.keras.optimizers.schedules.ExponentialDecay(0.1, 7.2, decay_rate=0.97, staircase=True)

    assert "float32" == in_a_program_of_64_bits(lambda _: str(tf.keras.ops.sqrt(2.0).dtype))
    assert "float32" == in_a_program_of_64_bits(lambda step: str(schedule(step).dtype))


def test_eager_results_of_layers_get_64_bits_where_tensors_have_them():
    with tf.using("simulator", cpus=1):
        result = tf.keras.layers.Dense(3)(np.ones([2, 4], "float32"))
        chosen, zeros = tf.argmax(result, 1), tf.zeros_like(result, dtype=tf.int64)
        dtypes = [chosen.dtype, zeros.dtype, tf.cast(result, tf.int64).dtype, tf.cast(result, tf.float64).dtype]

        assert [tf.int64] * 3 + [tf.float64] == dtypes
        assert (2,) == tf.equal(chosen, tf.constant([1, 2], tf.int64)).shape


def test_a_tape_follows_a_result_of_a_layer_through_a_cast():
    with tf.using("simulator", cpus=1):
        layer = tf.keras.layers.Dense(3)
        with tf.GradientTape() as tape, pytest.warns(UserWarning, match="float64"):
            total = tf.reduce_sum(tf.cast(layer(np.ones([2, 4], "float32")), tf.float64))
        gradient = tape.gradient(total, layer.kernel)

        assert (np.asarray(gradient) == 2).all()
