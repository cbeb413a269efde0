"""Numpy's dtypes under their documented names, and with the documented attributes.

Tensors are arrays of numpy and of JAX, so their dtypes are of numpy. Programs ask these for `x.dtype.is_floating` and the like, and
numpy does not have it; so the class of numpy itself gets these names, none of which it has a use for.
"""

import builtins
import ctypes
import gc
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

DType = np.dtype

float16 = half = np.dtype("float16")
float32 = np.dtype("float32")
float64 = double = np.dtype("float64")
bfloat16 = np.dtype(ml_dtypes.bfloat16)
complex64 = np.dtype("complex64")
complex128 = np.dtype("complex128")
int8 = np.dtype("int8")
int16 = np.dtype("int16")
int32 = np.dtype("int32")
int64 = np.dtype("int64")
uint8 = np.dtype("uint8")
uint16 = np.dtype("uint16")
uint32 = np.dtype("uint32")
uint64 = np.dtype("uint64")
bool = np.dtype("bool")
string = np.dtype("object")  # byte strings are kept as Python objects

# Python's numbers are 32 bits wide, as tf.constant makes them.
_NAMED: dict[Any, np.dtype[Any]] = {
    float: float32,
    int: int32,
    "float": float32,
    "int": int32,
    "string": string,
    "half": half,
    "double": double,
}


def numpy_dtype(dtype: Any) -> np.dtype[Any]:
    """The dtype of numpy that is meant by a dtype, a name, or a type of Python or numpy.

    >>> numpy_dtype(float), numpy_dtype("int64"), numpy_dtype(np.float64)
    (dtype('float32'), dtype('int64'), dtype('float64'))
    """
    named = _NAMED.get(dtype) if isinstance(dtype, (type, str)) else None
    try:
        return np.dtype(dtype) if named is None else named
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"The dtype is {dtype!r}; expected a dtype, its name, or a type of Python or numpy. Use tf.float32 or the like."
        ) from error


def is_wide(dtype: Any) -> builtins.bool:
    """Say whether the numbers of a dtype have 64 bits, complex ones twice as many: JAX has no room for them unless it is told so.

    >>> is_wide(int64), is_wide(np.dtype("complex128")), is_wide(np.dtype("complex64"))
    (True, True, False)
    """
    kind = getattr(dtype, "kind", "V")  # JAX's random keys have none
    return kind in "iufc" and dtype.itemsize == (16 if kind == "c" else 8)


def as_dtype(type_value: Any) -> np.dtype[Any]:
    """The dtype that is meant by a dtype, a name, or a type.

    >>> as_dtype("float32").is_floating, as_dtype(int).max
    (True, 2147483647)
    """
    return numpy_dtype(type_value)


def _limit(name: str) -> Callable[[np.dtype[Any]], Any]:
    def limit(dtype: np.dtype[Any]) -> Any:
        if dtype.kind in "iu":
            return getattr(np.iinfo(dtype), name)
        if not is_float(dtype):
            raise TypeError(f"The {name} of {dtype.name} was asked for; expected a dtype of numbers. Use another.")
        return getattr(ml_dtypes.finfo(dtype), name)

    return limit


def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    """What images of a dtype go from and to."""
    if dtype in (float32, float64, bool):
        return 0, 1
    if dtype.kind not in "iu":
        raise ValueError(
            f"The limits of {dtype.name} were asked for; expected integers, or float32. Use another dtype."
        )
    return 0, np.iinfo(dtype).max


def is_float(dtype: np.dtype[Any]) -> Any:
    """Say whether a dtype is one of floating-point numbers."""
    return dtype.kind == "f" or dtype == bfloat16


_ATTRIBUTES: dict[str, Callable[[np.dtype[Any]], Any]] = {
    "as_numpy_dtype": lambda dtype: dtype.type,
    "base_dtype": lambda dtype: dtype,
    "is_bool": lambda dtype: dtype.kind == "b",
    "is_complex": lambda dtype: dtype.kind == "c",
    "is_floating": is_float,
    "is_integer": lambda dtype: dtype.kind in "iu",
    "is_unsigned": lambda dtype: dtype.kind == "u",
    "limits": _limits,
    "max": _limit("max"),
    "min": _limit("min"),
    "real_dtype": lambda dtype: np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype,
    "size": lambda dtype: 0 if dtype.kind == "O" else dtype.itemsize,
}


def install() -> None:
    """Give numpy's dtypes the documented attributes; Python has to be told where its own class is kept."""
    own: Any = gc.get_referents(np.dtype.__dict__)[0]
    own.update({name: property(found) for name, found in _ATTRIBUTES.items()})
    own["is_compatible_with"] = lambda dtype, other: dtype == numpy_dtype(other)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(np.dtype))


install()
