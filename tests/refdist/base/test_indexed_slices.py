"""Slices of a larger tensor: which fit a variable, and what scattering them means."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

import refdist as tf

OPERATIONS = {"scatter_add": np.add.at, "scatter_sub": np.subtract.at, "scatter_update": np.ndarray.__setitem__}
MODES = pytest.mark.parametrize("mode", [lambda body: body, tf.function], ids=["eager", "function"])


@given(
    verb=generators.sampled_from(sorted(OPERATIONS)),
    rows=generators.integers(1, 5),
    columns=generators.integers(0, 3),
    data=generators.data(),
)
@settings(max_examples=60)
def test_scattering_does_what_numpy_does_row_by_row(verb, rows, columns, data):
    unique = verb == "scatter_update"  # which of two values for one row remains is not said
    indices = data.draw(generators.lists(generators.integers(0, rows - 1), max_size=6, unique=unique))
    values = np.arange(len(indices) * columns, dtype=np.float32).reshape(len(indices), columns) + 1
    expected = np.ones((rows, columns), np.float32)
    OPERATIONS[verb](expected, indices, values)
    variable = tf.Variable(np.ones((rows, columns), np.float32))
    getattr(variable, verb)(tf.IndexedSlices(values, np.array(indices, np.int32)))

    assert expected.tolist() == variable.numpy().tolist()


@MODES
@pytest.mark.parametrize("verb", sorted(OPERATIONS))
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8])
def test_indices_are_integers_of_any_kind(any_backend, mode, verb, dtype):
    variable = tf.Variable([1.0, 1.0, 1.0])
    mode(lambda: getattr(variable, verb)(tf.IndexedSlices(np.float32([5.0]), np.array([2], dtype))))()
    expected = np.ones(3, np.float32)
    OPERATIONS[verb](expected, [2], np.float32([5.0]))

    assert expected.tolist() == variable.numpy().tolist()


@MODES
def test_no_slices_change_nothing(any_backend, mode):
    variable = tf.Variable([[1.0, 2.0]])
    mode(lambda: variable.scatter_add(tf.IndexedSlices(np.zeros((0, 2), np.float32), np.zeros(0, np.int32))))()

    assert [[1.0, 2.0]] == variable.numpy().tolist()


def test_slices_are_tensors_lists_or_arrays(any_backend):
    variable = tf.Variable([1.0, 1.0])
    for values, indices in (
        ([1.0], [0]),
        (np.float32([1.0]), np.int32([0])),
        (tf.constant([1.0]), tf.constant([0])),
    ):
        variable.scatter_add(tf.IndexedSlices(values, indices))

    assert [4.0, 1.0] == variable.numpy().tolist()


@pytest.mark.parametrize(
    ("values", "indices", "error", "message"),
    [
        ([1.0], [3], ValueError, r"got indices from 3 to 3; expected 0 to 2\. Correct them"),
        ([1.0, 1.0], [0, -1], ValueError, "got indices from -1 to 0; expected 0 to 2"),
        ([1.0, 2.0], [0], ValueError, r"got values of shape \(2,\) for 1 indices; expected \(1,\)"),
        ([[1.0]], [0], ValueError, r"got values of shape \(1, 1\) for 1 indices; expected \(1,\)"),
        (1.0, 0, ValueError, "expected"),
        ([[1.0]], [[0]], ValueError, "expected"),
        ([1.0], [0.0], TypeError, "got indices of dtype float64; expected integers"),
        ([1.0], [True], TypeError, "got indices of dtype bool; expected integers"),
        ([1j], [0], TypeError, "losing"),
        (["a"], [0], TypeError, "losing"),
    ],
)
@pytest.mark.parametrize("verb", sorted(OPERATIONS))
def test_what_does_not_fit_is_refused_and_changes_nothing(verb, values, indices, error, message):
    variable = tf.Variable([1.0, 1.0, 1.0])
    with pytest.raises(error, match=message):
        getattr(variable, verb)(tf.IndexedSlices(values, indices))

    assert [1.0] * 3 == variable.numpy().tolist()


@pytest.mark.parametrize("verb", sorted(OPERATIONS))
def test_a_scalar_has_no_rows(verb):
    with pytest.raises(ValueError, match=r"variable of shape \(\)"):
        getattr(tf.Variable(1.0), verb)(tf.IndexedSlices([1.0], [0]))


def test_the_last_row_is_one():
    variable = tf.Variable([1.0, 1.0, 1.0])
    variable.scatter_update(tf.IndexedSlices([5.0], [2]))

    assert [1.0, 1.0, 5.0] == variable.numpy().tolist()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_mean_of_slices_keeps_the_dtype_and_divides_by_the_replicas(dtype, count):
    with tf.using("host", gpus=count):
        strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        variable = tf.Variable(np.zeros(3, dtype), aggregation=tf.VariableAggregation.MEAN)
    strategy.run(lambda: variable.scatter_add(tf.IndexedSlices(np.array([6.0], dtype), [1])))

    assert (dtype, [0.0, 6.0, 0.0]) == (variable.numpy().dtype, variable.numpy().astype(float).tolist())


def test_slices_know_what_they_were_made_of():
    slices = tf.IndexedSlices([1.0], [0], dense_shape=[3])

    assert ([1.0], [0], [3]) == (slices.values, slices.indices, slices.dense_shape)


def test_equal_slices_are_equal_and_no_keys():
    one = tf.IndexedSlices(np.float32([1.0]), np.int32([0]))

    assert one == tf.IndexedSlices([1.0], [0])
    assert one != tf.IndexedSlices([1.0], [1])
    assert one != tf.IndexedSlices([2.0], [0])
    assert one != 3
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


@pytest.mark.parametrize("verb", ["assign", "assign_add", "assign_sub"])
def test_slices_are_no_tensor_for_other_verbs(verb):
    with pytest.raises(TypeError, match=rf"{verb}\(\) got a IndexedSlices; expected tf.IndexedSlices for scatter_add"):
        getattr(tf.Variable([1.0]), verb)(tf.IndexedSlices([1.0], [0]))
