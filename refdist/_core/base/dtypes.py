"""Numpy's dtypes under their documented names."""

import builtins
from typing import Any

import ml_dtypes
import numpy as np

float16 = np.dtype("float16")
float32 = np.dtype("float32")
float64 = np.dtype("float64")
bfloat16 = np.dtype(ml_dtypes.bfloat16)
int8 = np.dtype("int8")
int16 = np.dtype("int16")
int32 = np.dtype("int32")
int64 = np.dtype("int64")
uint8 = np.dtype("uint8")
bool = np.dtype("bool")
string = np.dtype("object")  # byte strings are kept as Python objects

# Python's numbers are 32 bits wide, as tf.constant makes them.
_NAMED: dict[Any, np.dtype[Any]] = {float: float32, int: int32, "float": float32, "int": int32, "string": string}


def numpy_dtype(dtype: Any) -> np.dtype[Any]:
    """The dtype of numpy that is meant by a dtype, a name, or a type of Python or numpy.

    >>> numpy_dtype(float), numpy_dtype("int64"), numpy_dtype(np.float64)
    (dtype('float32'), dtype('int64'), dtype('float64'))
    """
    named = _NAMED.get(dtype) if isinstance(dtype, (type, str)) else None
    return np.dtype(dtype) if named is None else named


def is_wide(dtype: Any) -> builtins.bool:
    """Say whether the numbers of a dtype have 64 bits, complex ones twice as many: JAX has no room for them unless it is told so.

    >>> is_wide(int64), is_wide(np.dtype("complex128")), is_wide(np.dtype("complex64"))
    (True, True, False)
    """
    kind = getattr(dtype, "kind", "V")  # JAX's random keys have none
    return kind in "iufc" and dtype.itemsize == (16 if kind == "c" else 8)
