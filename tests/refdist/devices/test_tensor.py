import operator
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

import refdist as tf
from refdist._core.base.where import entered
from refdist._core.devices.tensor import Tensor, make
from tests.generators import values


def tensor(value, name="GPU:0"):
    return make(np.asarray(value), name)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float32(6), "<tf.Tensor: shape=(), dtype=float32, numpy=6.0>"),
        (np.array([2]), "<tf.Tensor: shape=(1,), dtype=int64, numpy=array([2])>"),
        (np.float32([1, 2]), "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 2.], dtype=float32)>"),
        (np.ones((2, 1)), "<tf.Tensor: shape=(2, 1), dtype=float64, numpy=\narray([[1.],\n       [1.]])>"),
        (np.array(b"a", object), "<tf.Tensor: shape=(), dtype=string, numpy=b'a'>"),
        (np.bool_(True), "<tf.Tensor: shape=(), dtype=bool, numpy=True>"),
    ],
)
def test_it_prints_as_the_pages_print_it(value, text):
    assert text == repr(tensor(value))


def test_its_short_form_is_that_of_print():
    assert "tf.Tensor(6.0, shape=(), dtype=float32)" == str(tensor(np.float32(6)))
    assert "tf.Tensor([1., 2.], shape=(2,), dtype=float32)" == str(tensor(np.float32([1, 2])))


def test_a_number_can_be_formatted():
    assert "6.00" == f"{tensor(np.float32(6)):.2f}"


@given(array=values(np.dtype("float32"), (2, 3)))
def test_numpy_functions_keep_the_device(array):
    one = tensor(array, "GPU:1")
    for result in (
        one + 1,
        np.exp(one * 0),
        one.sum(),
        one.sum(axis=0),
        one @ one.T,
        np.concatenate([one, one]),
        one[0],
        one[0, 0],
        np.where(one > 0, one, 0),
        np.stack([one, one]),
        one.reshape(3, 2),
        one.astype(np.float64),
    ):
        assert isinstance(result, Tensor)
        assert result.device.endswith("GPU:1")


def test_a_result_lies_on_the_current_device():
    with entered(device=tf.distribute.get_strategy().extended.worker_devices[0]):
        result = tensor(np.float32(1), "GPU:1") + 1

    assert result.device.endswith("CPU:0")


def test_an_element_cannot_be_assigned():
    one = tensor([1, 2])
    with pytest.raises(TypeError, match="immutable"):
        one[0] = 5

    assert [1, 2] == one.tolist()


@pytest.mark.parametrize("operator", ["+=", "-=", "*=", "//=", "**=", "%=", "&=", "|=", "^=", "<<=", ">>="])
def test_an_in_place_operator_makes_a_new_tensor(operator):
    one = tensor([6, 7])
    space = {"x": one}
    exec(f"x {operator} 1", space)

    assert [6, 7] == one.tolist()
    assert space["x"] is not one


def test_numpy_gives_a_copy_and_a_scalar_for_a_scalar():
    one = tensor(np.float32([1, 2]))
    one.numpy()[0] = 9

    assert [1, 2] == one.tolist()
    assert isinstance(tensor(np.float32(3)).numpy(), np.float32)


def test_iterating_gives_tensors_and_a_scalar_is_refused():
    assert all(isinstance(part, Tensor) for part in tensor([1, 2]))
    with pytest.raises(TypeError, match="scalar"):
        iter(tensor(1))


def test_it_can_be_pickled_with_its_device():
    one = pickle.loads(pickle.dumps(tensor([1, 2], "GPU:1")))

    assert [1, 2] == one.tolist()
    assert one.device.endswith("GPU:1")


def test_jax_takes_it():
    one = tensor(np.float32([1, 2]))

    assert [2, 4] == jax.grad(lambda x: jnp.sum(x * x))(one).tolist()
    assert 3 == jax.jit(jnp.sum)(one)


@pytest.mark.parametrize("number", [np.float64(2), np.float32(2), np.int64(2), np.array([2.0, 2.0]), np.array([2, 2])])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow"])
def test_what_numpy_has_made_widens_no_float_tensor(number, dtype, name):
    tensor, operation = tf.constant([1.5, 4.0], dtype), getattr(operator, name)
    plain = tf.constant(np.broadcast_to(number, 2), dtype)

    for result, expected in (
        (operation(tensor, number), operation(tensor, plain)),
        (operation(number, tensor), operation(plain, tensor)),
    ):
        assert dtype == result.dtype.name
        assert expected.tolist() == result.tolist()


def test_integers_of_numpy_widen_no_tensor_of_integers():
    tensor = tf.constant([1, 2])

    assert {"int32"} == {(tensor + np.int64(2)).dtype.name, (np.int64(2) + tensor).dtype.name}
    with pytest.raises(ValueError, match="does not fit"):
        tensor + np.int64(2**40)


@pytest.mark.parametrize("name", ["lt", "le", "gt", "ge", "eq", "ne"])
def test_numbers_are_compared_in_the_dtype_of_the_tensor(name):
    compare, tensor = getattr(operator, name), tf.constant(1.1)

    assert compare(1, 1) == bool(compare(tensor, np.float64(1.1))) == bool(compare(np.float64(1.1), tensor))


@pytest.mark.parametrize(
    ("make", "form", "expected"),
    [
        (lambda: tf.constant(1.5), "{}", "1.5"),
        (lambda: tf.constant(1.5), "{:.3f}", "1.500"),
        (lambda: tf.constant(1.5), "{:>8}", "     1.5"),
        (lambda: tf.constant([1, 2]), "{}", "[1 2]"),
        (lambda: tf.constant(3), "{:d}", "3"),
        (lambda: tf.constant(True), "{}", "True"),
        (lambda: tf.constant("a"), "{}", "b'a'"),
        (lambda: tf.constant(1.5), "{!s}", "tf.Tensor(1.5, shape=(), dtype=float32)"),
    ],
)
def test_formatting_shows_the_value_alone_as_in_tensorflow(make, form, expected):
    assert expected == form.format(make())


@pytest.mark.parametrize("key", ["abc", 1.5, {}, [0.5], (0, "a"), object()])
def test_what_is_no_index_is_refused_by_tensors_and_variables(key):
    for indexed in (tf.constant([[1.0, 2.0]]), tf.Variable([[1.0, 2.0]])):
        with pytest.raises(TypeError, match=r"A tensor was indexed with .*; expected integers, slices"):
            indexed[key]


@pytest.mark.parametrize("key", [7, (0, 7), ([], 7), (0, 0, 0), np.int64(7)])
def test_an_index_out_of_range_stays_an_index_error(key):
    with pytest.raises(IndexError):
        tf.constant([[1.0, 2.0]])[key]
