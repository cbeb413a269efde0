import numpy as np
import pytest

import refdist as tf
from refdist._core.replicas.values import PerReplica


@pytest.mark.parametrize(
    ("make", "expected", "dtype"),
    [
        (lambda: tf.constant(1.5), 1.5, "float32"),
        (lambda: tf.constant(2, shape=[2, 2]), [[2, 2], [2, 2]], "int32"),
        (lambda: tf.constant([1, 2, 3, 4], shape=[2, 2]), [[1, 2], [3, 4]], "int32"),
        (lambda: tf.constant(1, tf.float64), 1.0, "float64"),
        (lambda: tf.range(3), [0, 1, 2], "int32"),
        (lambda: tf.range(1, 6, 2), [1, 3, 5], "int32"),
        (lambda: tf.range(0.0, 1.0, 0.5), [0.0, 0.5], "float32"),
        (lambda: tf.ones([2]), [1.0, 1.0], "float32"),
        (lambda: tf.zeros(2, tf.int32), [0, 0], "int32"),
        (lambda: tf.cast([1.7, -1.7], tf.int32), [1, -1], "int32"),
        (lambda: tf.reduce_sum([[1, 2], [3, 4]]), 10, "int32"),
        (lambda: tf.reduce_sum([[1, 2], [3, 4]], axis=0), [4, 6], "int32"),
        (lambda: tf.reduce_sum([[1.0, 2.0]], axis=[0, 1]), 3.0, "float32"),
        (lambda: tf.reduce_mean([[1.0, 2.0], [3.0, 4.0]], axis=1, keepdims=True), [[1.5], [3.5]], "float32"),
        (lambda: tf.add(tf.Variable(1.0), tf.Variable(2.0)), 3.0, "float32"),
        (lambda: tf.square(3.0), 9.0, "float32"),
        (lambda: tf.matmul([[1.0, 2.0]], [[3.0], [4.0]]), [[11.0]], "float32"),
        (lambda: tf.concat([[1], [2, 3]], axis=0), [1, 2, 3], "int32"),
        (lambda: tf.stack([1.0, tf.Variable(2.0)]), [1.0, 2.0], "float32"),
        (lambda: tf.shape(tf.ones([2, 3])), [2, 3], "int32"),
        (lambda: tf.size(tf.ones([2, 3])), 6, "int32"),
        (lambda: tf.identity(tf.Variable(2.0)), 2.0, "float32"),
    ],
)
def test_the_functions_work_on_every_backend(any_backend, make, expected, dtype):
    result = make()
    wanted = "float32" if (any_backend.name, dtype) == ("jax", "float64") else dtype

    assert isinstance(result, any_backend.tensor_type)
    assert expected == result.tolist()
    assert np.dtype(wanted) == result.dtype


def test_a_device_scope_places_tensors_and_variables(any_backend, names):
    with tf.device(names[2]):
        inside = [tf.constant(1.0), tf.Variable(1.0), tf.identity(tf.ones([])), tf.range(3)]
        with tf.device(None):
            outside = tf.constant(1.0)

    assert {names[2]} == {tf.device_name(value)[-5:] for value in inside}
    assert "CPU:0" == tf.device_name(outside)[-5:]


def test_a_device_scope_ends_with_an_error(any_backend, names):
    with pytest.raises(KeyError), tf.device(names[2]):
        raise KeyError

    assert "CPU:0" == tf.device_name(tf.constant(1.0))[-5:]


def test_a_per_replica_value_is_no_tensor():
    with pytest.raises(ValueError, match="expected a single one"):
        tf.constant(PerReplica([1.0, 2.0]))


def test_a_tensor_is_not_converted_silently():
    with pytest.raises(ValueError, match="expected the same dtype"):
        tf.convert_to_tensor(tf.constant(1), tf.float32)


def test_v1_names_make_variables():
    v1 = tf.compat.v1
    v1.enable_eager_execution()

    assert ("w:0", [0.0, 0.0]) == (v1.get_variable("w", [2]).name, v1.get_variable("w", [2]).numpy().tolist())
    assert 3.0 == v1.get_variable("w", initializer=3.0).numpy()
    assert [1.0] == v1.get_variable("w", [1], initializer=tf.ones).numpy().tolist()
    with pytest.raises(ValueError, match="partitioner"):
        v1.get_variable("w", [2], partitioner=v1.fixed_size_partitioner(2))


@pytest.mark.parametrize("reduce", [tf.reduce_sum, tf.reduce_mean])
@pytest.mark.parametrize("around", [lambda step: step, tf.function], ids=["eager", "staged"])
def test_what_has_no_such_axis_or_no_numbers_is_not_reduced(any_backend, reduce, around):
    with pytest.raises(ValueError, match="axis"):
        around(lambda x: reduce(x, axis=0))(tf.constant(1.0))
    with pytest.raises(ValueError, match="axis"):
        around(lambda x: reduce(x, axis=[0, 2]))(tf.ones([2, 2]))
    with pytest.raises(TypeError, match="numbers"):
        around(lambda x: reduce(x))(tf.constant([True, False]))


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        (lambda: (3,), "int32"),
        (lambda: (tf.constant(3),), "int32"),
        (lambda: (tf.constant(3, tf.int64),), "int64"),
        (lambda: (1, tf.constant(3, tf.int64)), "int64"),
        (lambda: (3.0,), "float32"),
        (lambda: (0, 3, np.float64(1)), "float64"),
    ],
)
def test_range_counts_in_the_widest_dtype_of_its_numbers_as_in_tensorflow(bounds, expected):
    assert expected == str(tf.range(*bounds()).dtype)
