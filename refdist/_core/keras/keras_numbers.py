"""Python's numbers in Keras: 32 bits, as in TensorFlow, also where a program has tensors of 64 bits."""

import functools
import importlib
import sys
from collections.abc import Callable
from typing import Any

from refdist._core.base import nest

_core: Any = importlib.import_module("keras.src.backend.jax.core")


def install() -> None:
    """Give numbers the dtypes that they have in TensorFlow, in all modules that convert them."""
    original = _core.convert_to_tensor
    narrow = _narrow(original)
    for name, module in list(sys.modules.items()):
        if name.startswith("keras.") and vars(module).get("convert_to_tensor") is original:
            vars(module)["convert_to_tensor"] = narrow


def _narrow(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def convert_to_tensor(x: Any, dtype: Any = None, **kwargs: Any) -> Any:
        if dtype is None and isinstance(x, (float, int, list, tuple)):
            dtype = _dtype_of_numbers(x)
        return original(x, dtype=dtype, **kwargs)

    return convert_to_tensor


def _dtype_of_numbers(x: Any) -> str | None:
    """The dtype that TensorFlow gives to Python's numbers; None for what is no such number, or does not fit."""
    numbers = nest.flatten(x)
    kinds = {type(one) for one in numbers}  # not isinstance: a number of numpy keeps its dtype, and True is an int
    if kinds == {int}:
        return "int32" if all(-(2**31) <= one < 2**31 for one in numbers) else None
    return "float32" if kinds <= {float, int} else None
