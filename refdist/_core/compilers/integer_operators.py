"""Operators on integers and indices while a program is written: they work as they do outside, and not in JAX's own way.

JAX silently divides by zero, takes the last row for an index beyond the end, and divides integers in 32 bits; and what is computed
from known integers is no longer known.
"""

from collections.abc import Callable
from types import EllipsisType
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.array import ArrayImpl
from jax._src.core import ShapedArray  # pyright: ignore

from refdist._core.base.jax_facts import is_tracer
from refdist._core.base.where import HERE
from refdist._core.seam.draft import Draft

Operator: TypeAlias = Callable[[Any, Any], Any]
Prepare: TypeAlias = Callable[[Draft, Any, Any], tuple[Any, Any]]

_OTHERS = ("add", "radd", "sub", "rsub", "mul", "rmul", "lt", "le", "gt", "ge", "eq", "ne", "neg")
_DIVISIONS = ("truediv", "rtruediv", "floordiv", "rfloordiv", "mod", "rmod")


def install() -> None:
    """Make the operators of JAX's arrays follow these rules inside of our programs; elsewhere they stay as they are."""
    for name in (*_DIVISIONS, "getitem"):
        prepare = _indexed if name == "getitem" else _divided(name)
        tracers, constants = f"_{name}", f"__{name}__"
        setattr(ShapedArray, tracers, staticmethod(_prepared(getattr(ShapedArray, tracers), prepare)))
        setattr(ArrayImpl, constants, _kept_known(_prepared(getattr(ArrayImpl, constants), prepare)))
    for name, keep in {**dict.fromkeys(_OTHERS, _kept_known), "iter": _iterated}.items():
        setattr(ArrayImpl, f"__{name}__", keep(getattr(ArrayImpl, f"__{name}__")))


def _kept_known(original: Callable[..., Any]) -> Callable[..., Any]:
    """Compute at once with integers that are known while a program is written: shapes are made of them."""

    def operate(self: Any, *others: Any) -> Any:
        if HERE.get().draft is None or self.dtype.kind not in "biu" or any(map(_unknown, others)):
            return original(self, *others)
        with jax.ensure_compile_time_eval():
            return original(self, *others)

    return operate


def _iterated(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def iterate(self: Any) -> Any:
        known = HERE.get().draft is not None and self.dtype.kind in "biu" and self.ndim
        return (self[place] for place in range(self.shape[0])) if known else original(self)

    return iterate


def _unknown(value: Any) -> bool:
    """Say whether a value, or a part of an index, becomes known only when the program runs."""
    if isinstance(value, tuple):
        return any(map(_unknown, value))
    if isinstance(value, slice):
        return any(map(_unknown, (value.start, value.stop, value.step)))
    return is_tracer(value) or not isinstance(
        value, (int, float, np.generic, np.ndarray, ArrayImpl, type(None), EllipsisType)
    )


def _prepared(original: Operator, prepare: Prepare) -> Operator:
    def operate(self: Any, other: Any) -> Any:
        draft = HERE.get().draft
        return original(self, other) if draft is None else original(*prepare(draft, self, other))

    return operate


def _divided(name: str) -> Prepare:
    divide = _exact if name.endswith("truediv") else _by_zero_refused

    def prepare(draft: Draft, self: Any, other: Any) -> tuple[Any, Any]:
        convert = getattr(other, "__jax_array__", None)  # a variable
        other = other if convert is None else convert()
        whole = self.dtype.kind in "iu" and (
            isinstance(other, int) or getattr(getattr(other, "dtype", None), "kind", "f") in "iu"
        )
        return divide(draft, self, other, self if name.startswith("r") else other) if whole else (self, other)

    return prepare


def _exact(draft: Draft, self: Any, other: Any, _: Any) -> tuple[Any, Any]:
    """Divide integers in 64 bits, and narrow ones in 32, where the numbers of a program are exact."""
    if not draft.compiler.exact:
        return self, other
    size = max(self.dtype.itemsize, 0 if isinstance(other, int) else other.dtype.itemsize)
    dtype = np.dtype(np.float32 if size <= 2 else np.float64)
    draft.require_wide(dtype)
    return self.astype(dtype), jnp.asarray(other, dtype)


def _by_zero_refused(draft: Draft, self: Any, other: Any, divisor: Any) -> tuple[Any, Any]:
    draft.require(jnp.all(divisor != 0), ZeroDivisionError, "Integers were divided by zero; expected other divisors.")
    return self, other


def _indexed(draft: Draft, self: Any, key: Any) -> tuple[Any, Any]:
    """Make the program report an index beyond the end, if the index is known only when it runs."""
    for axis, index in enumerate(key if isinstance(key, tuple) else (key,)):
        if index is None or index is Ellipsis or getattr(index, "dtype", None) == np.dtype(bool):
            break  # after these, places in the key no longer match axes
        if is_tracer(index) and index.dtype.kind in "iu" and axis < self.ndim:
            size = self.shape[axis]
            text = (
                f"An index was beyond the {size} elements of axis {axis} of a tensor; expected {-size} to {size - 1}."
            )
            draft.require(jnp.all((index >= -size) & (index < size)), IndexError, text)
    return self, key
