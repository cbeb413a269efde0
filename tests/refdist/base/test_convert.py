import numpy as np
import pytest

from refdist._core.base.convert import to_array


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1.5, "float32"),
        (1, "int32"),
        (True, "bool"),
        ([1, 2], "int32"),
        ([[1.0], [2.0]], "float32"),
        (2**40, "int64"),
        (np.float64(1), "float64"),
        (np.ones(2), "float64"),
        ([np.float64(1)], "float64"),
        (np.int64(3), "int64"),
        ([], "float32"),
        (1j, "complex128"),
        ("a", "object"),
        (["a", "b"], "object"),
        (b"a", "object"),
    ],
)
def test_the_dtype_is_the_one_that_a_constant_gets(value, dtype):
    assert np.dtype(dtype) == to_array(value).dtype


def test_text_becomes_bytes():
    assert [b"a", b"b"] == to_array(["a", "b"]).tolist()


@pytest.mark.parametrize(("value", "dtype"), [(1, "float32"), (np.ones(2), "float32"), (True, "int32"), (3, "int8")])
def test_a_value_becomes_the_dtype_asked_for(value, dtype):
    assert np.dtype(dtype) == to_array(value, dtype).dtype


@pytest.mark.parametrize(("value", "dtype"), [(1.5, "int32"), ("a", "float32"), (1, "object"), (1j, "float32")])
def test_a_conversion_that_loses_something_is_refused(value, dtype):
    with pytest.raises(TypeError, match="expected one that becomes"):
        to_array(value, dtype)


def test_a_number_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="does not fit"):
        to_array(300, "int8")


@pytest.mark.parametrize("value", [object(), None, {"a": 1}, [object()], lambda: 0])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(TypeError, match="is no tensor"):
        to_array(value)


def test_lists_of_different_length_are_refused():
    with pytest.raises(ValueError, match="not rectangular"):
        to_array([[1, 2], [3]])
