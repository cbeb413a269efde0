import json
import pathlib

import jax.numpy as jnp
import numpy as np
import pytest

import refdist as tf

ANSWERS = json.loads((pathlib.Path(__file__).parent.parent.parent / "fixtures" / "dtypes.json").read_text())


def found(dtype, name):
    try:
        value = getattr(dtype, name)
    except (TypeError, ValueError) as error:
        return type(error).__name__
    if isinstance(value, np.dtype):
        return "string" if value == tf.string else value.name
    if isinstance(value, type):
        return value.__name__.removesuffix("_")
    return (
        [float(one) for one in value] if isinstance(value, tuple) else float(value) if name in ("min", "max") else value
    )


@pytest.mark.parametrize("name", ANSWERS)
def test_a_dtype_says_what_that_of_tensorflow_says(name):
    dtype = getattr(tf, name)
    expected = {
        one: pytest.approx(value) if isinstance(value, float) else value for one, value in ANSWERS[name].items()
    }

    assert expected == {one: found(dtype, one) for one in expected}
    assert dtype == tf.as_dtype(name) == tf.dtypes.as_dtype(dtype)
    assert isinstance(dtype, tf.DType)


def test_tensors_and_variables_have_such_dtypes(any_backend):
    for value in (tf.constant([1.0]), tf.Variable([1.0]), tf.zeros([2]), jnp.ones(2)):
        assert value.dtype.is_floating
        assert not value.dtype.is_integer
        assert np.float32 is value.dtype.as_numpy_dtype
        assert value.dtype == tf.float32 == "float32" == value.dtype.base_dtype == np.float32
        assert value.dtype.is_compatible_with("float32")
    assert {tf.float32: 1}[tf.constant(1.0).dtype] == 1


def test_a_function_knows_the_dtypes_of_its_arguments(any_backend):
    @tf.function
    def halved(x):
        return tf.cast(x, tf.float32) / 2 if x.dtype.is_integer else x / x.dtype.as_numpy_dtype(2)

    assert [0.5, 0.5] == [float(halved(tf.constant(one))) for one in (1, 1.0)]


def test_numbers_of_further_dtypes():
    assert tf.uint16 == tf.constant([1], tf.uint16).dtype
    assert tf.complex64 == tf.cast([1.0], tf.complex64).dtype
    assert tf.half == tf.float16
    assert tf.double == tf.float64


def test_what_is_no_dtype_is_told():
    with pytest.raises(TypeError, match="The dtype is 'no such'"):
        tf.as_dtype("no such")


@pytest.mark.parametrize("given", ["abc", 5, [1], object()])
@pytest.mark.parametrize(
    "use",
    [
        tf.as_dtype,
        lambda given: tf.Variable(1.0, dtype=given),
        lambda given: tf.cast(1.0, given),
        lambda given: tf.TensorSpec([], given),
    ],
)
def test_what_is_no_dtype_is_refused_with_what_to_write(use, given):
    with pytest.raises(TypeError, match=r"The dtype is .*; expected a dtype, its name, or a type"):
        use(given)
