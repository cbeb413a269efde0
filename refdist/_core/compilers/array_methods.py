"""What tensors of TensorFlow can do, and JAX's arrays cannot by themselves: `.numpy()`, `.get_shape()`, `.shape.as_list()`."""

import functools
import sys
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax._src.array import ArrayImpl
from jax.core import Tracer

from refdist._core.base.call_sites import of_user
from refdist._core.base.tensor_shape import StaticShape, get_shape, plain_shape, set_shape, shape_parts
from refdist._core.base.where import HERE
from refdist._core.compilers.dynamic_slices import slicing


@functools.cache
def install() -> None:
    """Give the methods to the arrays of JAX; what stands for an array in a trace says that it has no numbers yet."""
    for name, method in {"numpy": _numpy, **_SHAPES}.items():
        setattr(ArrayImpl, name, method)  # JAX's own class, which has no such names
    jax.tree_util.register_pytree_node(
        StaticShape, shape_parts, plain_shape
    )  # to JAX it is the tuple that it has always been
    for kind in (ArrayImpl, Tracer):
        setattr(kind, "shape", property(lambda self: StaticShape(self.aval.shape)))  # noqa: B010
        setattr(kind, "__getitem__", slicing(getattr(kind, "__getitem__")))  # noqa: B009, B010
    for name in _ASKING:
        setattr(Tracer, name, _asked(getattr(Tracer, name)))
    setattr(Tracer, "__getattr__", _refusing(getattr(Tracer, "__getattr__")))  # noqa: B009, B010


# What asks for the value of an array.
_ASKING = ("__bool__", "__int__", "__float__", "__complex__", "__index__", "__array__")
_SHAPES: dict[str, Any] = {"get_shape": get_shape, "set_shape": set_shape}


def _numpy(self: Any) -> Any:
    """Copy the value to an ordinary numpy array, or to a numpy scalar."""
    array = np.array(self, copy=True)
    return array if array.ndim else array[()]


def _asked(original: Callable[..., Any]) -> Callable[..., Any]:
    """Tell the draft of an error where the program itself asks: a library that asks may well go on without an answer."""

    def ask(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, *args, **kwargs)
        except Exception as error:
            draft = HERE.get().draft
            if draft is not None and of_user(sys._getframe(1).f_code.co_filename):  # pyright: ignore[reportPrivateUsage]
                draft.refuse(error, self)
            raise

    return ask


def _refusing(original: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    """Let the names that are missing be found as before, and say more about numpy; hasattr() says no, as in TensorFlow."""

    def found(self: Any, name: str) -> Any:
        if name in _SHAPES:
            return _SHAPES[name].__get__(self)
        here = HERE.get()
        if name == "device" and here.draft is not None:
            return (
                "" if here.device is None else str(here.device)
            )  # as on TensorFlow: nowhere yet, unless it was said where
        if name != "numpy":
            return original(self, name)
        raise AttributeError(
            f"numpy() was asked of {self!r}, in a function or in a transformation of JAX; expected a tensor whose numbers are "
            f"known. Return it, and call numpy() outside.",
            name=name,
            obj=self,
        )

    return found
