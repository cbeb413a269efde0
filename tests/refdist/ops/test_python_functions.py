"""What a Python function returns among operations becomes as many tensors as it says."""

import numpy as np
import pytest

import refdist as tf

ROWS = np.ones((2, 3), np.float32)


@pytest.mark.parametrize("call", [tf.py_function, tf.numpy_function])
@pytest.mark.parametrize(
    ("returned", "dtypes", "shapes"),
    [
        (ROWS, tf.float32, (2, 3)),
        (ROWS, [tf.float32], [(2, 3)]),
        ([ROWS], tf.float32, (2, 3)),
        ((ROWS, 1.0), [tf.float32, tf.float64], [(2, 3), ()]),
        (None, [], []),
    ],
)
def test_one_dtype_is_one_tensor_and_a_list_is_a_list(call, returned, dtypes, shapes):
    found = call(lambda x: returned, [1], dtypes)

    assert shapes == ([tuple(one.shape) for one in found] if isinstance(found, list) else tuple(found.shape))


@pytest.mark.parametrize(("returned", "dtypes"), [([1.0, 2.0], tf.float32), (ROWS, [tf.float32] * 2), (None, tf.int32)])
def test_another_number_of_values_is_refused(returned, dtypes):
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"returned \d values; expected \d"):
        tf.py_function(lambda x: returned, [1], dtypes)


def test_a_map_that_reads_files_with_a_python_function_delivers_one_component():
    dataset = tf.data.Dataset.range(4).map(lambda x: tf.py_function(lambda y: ROWS * y.numpy(), [x], [tf.float32]))

    assert [(4, 2, 3)] == [tuple(part.shape) for part in next(iter(dataset.batch(4)))]
