"""What tensors of TensorFlow can do, and JAX's arrays cannot by themselves: `.numpy()`."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from jax._src.array import ArrayImpl
from jax.core import Tracer


@functools.cache
def install() -> None:
    """Give the methods to the arrays of JAX; what stands for an array in a trace says that it has no numbers yet."""
    setattr(ArrayImpl, "numpy", _numpy)  # noqa: B010 - JAX's own class, which has no such name
    setattr(Tracer, "__getattr__", _refusing(getattr(Tracer, "__getattr__")))  # noqa: B009, B010


def _numpy(self: Any) -> Any:
    """Copy the value to an ordinary numpy array, or to a numpy scalar."""
    array = np.array(self, copy=True)
    return array if array.ndim else array[()]


def _refusing(original: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    """Let the names that are missing be found as before, and say more about numpy; hasattr() says no, as in TensorFlow."""

    def found(self: Any, name: str) -> Any:
        if name != "numpy":
            return original(self, name)
        raise AttributeError(
            f"numpy() was asked of {self!r}, in a function or in a transformation of JAX; expected a tensor whose numbers are "
            f"known. Return it, and call numpy() outside.",
            name=name,
            obj=self,
        )

    return found
