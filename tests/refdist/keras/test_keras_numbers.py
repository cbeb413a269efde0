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
