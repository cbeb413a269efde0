"""What becomes a tensor, where it goes, and what is refused on the way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

import refdist as tf
from refdist._core.devices.device import resolve
from refdist._core.replicas.values import Mirrored, PerReplica
from refdist._core.variables.tensors import as_tensor, current_value, new_tensor, require_single
from tests.generators import values

MODES = pytest.mark.parametrize("mode", [lambda body: body, tf.function], ids=["eager", "function"])


@pytest.fixture
def devices(any_backend, names):
    """Three devices of the backend under test; the first is the host."""
    return [any_backend.devices()[0], *[resolve(name, any_backend.devices()) for name in names[2:4]]]


@pytest.mark.parametrize("value", [1.5, [1, 2], True, np.float32([1, 2]), [[1.0], [2.0]]])
def test_a_value_goes_to_its_device_or_else_to_the_host(any_backend, devices, value):
    for device, place in [(None, devices[0]), (devices[1], devices[1])]:
        tensor = as_tensor(any_backend, value, device)
        assert isinstance(tensor, any_backend.tensor_type)
        assert (place, np.asarray(value).tolist()) == (any_backend.device_of(tensor), np.asarray(tensor).tolist())


def test_a_tensor_is_only_moved_and_not_even_that_where_it_lies_there(any_backend, devices):
    tensor = any_backend.put(np.float32([1, 2]), devices[1])
    moved = as_tensor(any_backend, tensor, devices[2])

    assert tensor is as_tensor(any_backend, tensor, devices[1]) is as_tensor(any_backend, tensor, None)
    assert (devices[2], [1, 2]) == (any_backend.device_of(moved), np.asarray(moved).tolist())


def test_a_variable_becomes_its_value(any_backend, devices):
    with tf.device(devices[1]):
        variable = tf.Variable([1.0, 2.0])
    tensor = as_tensor(any_backend, variable, devices[2])
    variable.assign([3.0, 4.0])

    assert ([1.0, 2.0], [3.0, 4.0]) == (np.asarray(tensor).tolist(), np.asarray(current_value(variable)).tolist())
    assert 5 == current_value(5), "anything else is what it is"


@given(array=values(np.dtype("float32")), dtype=generators.sampled_from(["float32", "float64", "complex128"]))
@settings(max_examples=20)
def test_numbers_become_what_is_asked_for_where_nothing_is_lost(array, dtype):
    with tf.using("host") as backend:
        tensor = as_tensor(backend, array, None, dtype)

        assert (np.dtype(dtype), array.shape) == (tensor.dtype, tensor.shape)
        np.testing.assert_array_equal(array, tensor.numpy())


@pytest.mark.parametrize(
    ("value", "dtype", "error"),
    [
        (1.5, "int32", TypeError),
        (2**40, "int32", ValueError),
        ("text", "float32", TypeError),
        ([[1], [1, 2]], None, ValueError),
        (object(), None, TypeError),
        (None, None, TypeError),
    ],
)
@pytest.mark.parametrize("make", [as_tensor, new_tensor])
def test_what_would_be_lost_or_has_no_numbers_is_refused(any_backend, make, value, dtype, error):
    with pytest.raises(error, match="expected"):
        make(any_backend, value, None, dtype)


def test_a_new_tensor_can_have_another_dtype_than_the_one_that_it_is_made_of(any_backend, devices):
    old = any_backend.put(np.int32([1, 2]), devices[1])
    new = new_tensor(any_backend, old, devices[2], "float32")

    assert (np.float32, devices[2], [1.0, 2.0]) == (new.dtype, any_backend.device_of(new), np.asarray(new).tolist())
    assert any_backend.devices()[0] == any_backend.device_of(new_tensor(any_backend, old))
    with pytest.raises(TypeError, match=r"float32; expected one that becomes int32 .*tf\.cast"):
        new_tensor(any_backend, new, None, "int32")


def test_a_tensor_of_another_backend_becomes_one_of_this(any_backend):
    with tf.using("host"):
        foreign = tf.constant([1.0, 2.0])
    tensor = new_tensor(any_backend, foreign)

    assert isinstance(tensor, any_backend.tensor_type)
    assert [1.0, 2.0] == np.asarray(tensor).tolist()


@pytest.mark.parametrize("kind", [PerReplica, Mirrored])
def test_a_value_with_a_component_for_each_replica_is_no_single_one(kind):
    require_single(3.0, "f()")
    with pytest.raises(
        ValueError, match=r"^f\(\) got a per-replica value, with 2 components, at .*; expected a single one\. .*reduce"
    ):
        require_single(kind([1.0, 2.0]), "f()")


@MODES
def test_a_tensor_of_slices_has_the_sum_of_those_with_one_index(any_backend, mode):
    given = tf.IndexedSlices(tf.constant([1.0, 2.0, 3.0]), tf.constant([1, 1, 0]), tf.constant([3]))

    assert [3.0, 3.0, 0.0] == mode(lambda: tf.convert_to_tensor(given))().tolist()
    assert [3.0, 3.0, 0.0] == mode(tf.convert_to_tensor)(given).tolist()


@MODES
def test_slices_that_do_not_say_what_tensor_they_are_of_are_refused(any_backend, mode):
    values, indices = tf.constant([1.0]), tf.constant([3])
    with pytest.raises(ValueError, match="dense_shape"):
        mode(lambda: tf.convert_to_tensor(tf.IndexedSlices(values, indices)))()
    with pytest.raises(ValueError, match="expected the same dtype"):
        mode(lambda: tf.convert_to_tensor(tf.IndexedSlices(values, indices, [4]), tf.int32))()
    with pytest.raises(ValueError, match="indices beyond the 3 rows"):
        mode(lambda: tf.convert_to_tensor(tf.IndexedSlices(values, indices, [3])))()
    with pytest.raises(ValueError, match="indices beyond the 3 rows"):
        mode(lambda at: tf.convert_to_tensor(tf.IndexedSlices(values, at, [3])))(indices)


rows = generators.integers(1, 5)


@given(count=rows, indices=generators.lists(generators.integers(0, 4), max_size=6))
@settings(max_examples=30)
def test_the_whole_of_slices_is_the_sum_of_its_rows(count, indices):
    at = [index % count for index in indices]
    given_rows = np.arange(1, 2 * len(at) + 1, dtype=np.float32).reshape(len(at), 2)
    expected = np.zeros((count, 2), np.float32)
    for index, row in zip(at, given_rows, strict=True):
        expected[index] += row
    with tf.using("host", gpus=1) as backend:
        slices = tf.IndexedSlices(tf.constant(given_rows), tf.constant(np.int32(at)), [count, 2])

        assert expected.tolist() == as_tensor(backend, slices, None).numpy().tolist()


def test_the_whole_lies_where_its_rows_do_unless_it_is_asked_elsewhere(any_backend, devices):
    slices = tf.IndexedSlices(any_backend.put(np.float32([5]), devices[1]), np.int32([0]), [2])

    assert devices[1] == any_backend.device_of(as_tensor(any_backend, slices, None))
    assert devices[2] == any_backend.device_of(as_tensor(any_backend, slices, devices[2]))


@MODES
@pytest.mark.parametrize("index", [-1, 2])
def test_rows_that_the_whole_does_not_have_are_refused(mode, index):
    with tf.using("simulator", gpus=1), pytest.raises(ValueError, match=r"indices beyond the 2 rows .*expected 0 to 1"):
        mode(lambda at: tf.convert_to_tensor(tf.IndexedSlices(tf.constant([5.0]), at, [2])))(tf.constant([index]))
