"""Conversion of Python and numpy values to arrays: which dtype they get, and which conversions are refused."""

from typing import Any

import numpy as np

from refdist._core.base.dtypes import numpy_dtype
from refdist._core.base.pytree_nodes import is_node

_PYTHON_DTYPES = {"float64": np.dtype("float32"), "int64": np.dtype("int32")}


def to_array(value: Any, dtype: Any = None) -> np.ndarray[Any, Any]:
    """Make an array as `tf.constant` does: Python floats are float32, ints int32 where they fit.

    >>> to_array(1.5).dtype, to_array([1, 2]).dtype, to_array(2**40).dtype
    (dtype('float32'), dtype('int32'), dtype('int64'))
    """
    array = _array(value)
    if dtype is not None:
        return cast(array, numpy_dtype(dtype), value)
    if _written_in_python(value):
        narrow = _PYTHON_DTYPES.get(array.dtype.name)
        if narrow is not None and not (narrow.kind == "i" and _beyond(array, narrow)):
            return array.astype(narrow)
    return array


def cast(array: np.ndarray[Any, Any], dtype: np.dtype[Any], value: Any) -> np.ndarray[Any, Any]:
    """Change the dtype of an array if that preserves the kind of values: ints to floats, not floats to ints."""
    if array.dtype == dtype:
        return array
    if isinstance(value, (list, tuple)) and not array.size:
        return array.astype(dtype)  # an empty list has no dtype of its own
    if array.dtype.kind in "OSU" or dtype.kind in "OSU" or _rank(array.dtype) > _rank(dtype):
        raise TypeError(
            f"The value {value!r} has dtype {array.dtype.name}; expected one that becomes {dtype.name} without losing what it "
            f"says. Convert it first with tf.cast()."
        )
    if dtype.kind in "iu" and array.size and _beyond(array, dtype):
        raise ValueError(
            f"The value {value!r} does not fit into {dtype.name}; expected a smaller one. Use a wider dtype."
        )
    return array.astype(dtype)


def _array(value: Any) -> np.ndarray[Any, Any]:
    if isinstance(value, (str, bytes)):
        return np.array(value.encode() if isinstance(value, str) else value, dtype=object)
    if is_node(value):
        raise TypeError(
            f"A {type(value).__name__} was to become one tensor; expected a number, a string, an array, or lists of these. It is a "
            f"nest: pass its parts, or keep all of them in variables with tf.VariableTree()."
        )
    try:
        array = np.asarray(value)
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
    except ValueError as error:
        raise ValueError(
            f"The value {value!r} is not rectangular; expected lists of equal length. Pad them."
        ) from error
    if array.dtype == object and any(isinstance(item, np.ndarray) for item in array.flat):
        texts = [item.item() if isinstance(item, np.ndarray) and not item.ndim else item for item in array.flat]
        value = array = _objects(texts).reshape(array.shape)  # a list of tensors with one string each
    if array.dtype.kind in "US" or _is_text(array):
        # Taken from the value itself, because numpy strips trailing zero bytes.
        texts = np.array(value, dtype=object).ravel().tolist()
        encoded = [text.encode() if isinstance(text, str) else text for text in texts]
        return np.array(encoded, dtype=object).reshape(array.shape)
    if array.dtype == object and not all(isinstance(item, bytes) for item in array.flat):
        raise TypeError(
            f"The value {_short(value)}, a {type(value).__name__}, is no tensor; expected a number, a string, an array, or lists "
            f"of these. Pass its parts."
        )
    return array


def _objects(items: list[Any]) -> np.ndarray[Any, Any]:
    array = np.empty(len(items), object)
    array[:] = items
    return array


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 120 else f"{text[:100]} ..."


def _is_text(array: np.ndarray[Any, Any]) -> bool:
    return array.dtype == object and array.size > 0 and all(isinstance(item, (str, bytes)) for item in array.flat)


def _written_in_python(value: Any) -> bool:
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    return isinstance(value, (bool, int, float, list, tuple)) and not isinstance(value, np.generic)


def _beyond(array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> bool:
    limits = np.iinfo(dtype)
    return bool(array.size) and bool((array.min() < limits.min) or (array.max() > limits.max))


def _rank(dtype: np.dtype[Any]) -> int:
    # ml_dtypes such as bfloat16 have kind "V" but count as floats.
    return {"b": 0, "u": 1, "i": 1, "f": 2, "V": 2, "c": 3}.get(dtype.kind, 4)
