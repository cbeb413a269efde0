"""`x[2 * i : 2 * i + 2]` in a function, where `i` is a tensor: a slice whose place is not known yet, but its length is."""

from collections.abc import Callable, Iterator
from typing import Any, cast

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer

from refdist._core.base.errors import InvalidArgumentError, UnimplementedError
from refdist._core.base.where import HERE

Form = dict[Any, int]  # what multiplies each tensor that is not known, and under None what is added
Get = Callable[[Any, Any], Any]


def slicing(original: Get) -> Get:
    """Let what stands for a tensor be sliced from an unknown place on, if the length is the same wherever that is."""

    def getitem(self: Any, key: Any) -> Any:
        keys = key if isinstance(key, tuple) else (key,)
        if HERE.get().draft is None or not any(map(_is_open, keys)):
            return original(self, key)
        found, closed = self, list(keys)
        for place, axis in _axes(keys, self.ndim):
            if _is_open(keys[place]):
                found, closed[place] = _cut(found, keys[place], axis), slice(None)
        return original(found, tuple(closed))

    return getitem


def constant_difference(first: Any, second: Any) -> int | None:
    """What the second number has more than the first one, if the same in every call; None if that is not certain."""
    start, end = _form(first), _form(second)
    if start is None or end is None:
        return None
    rest = {one: end.get(one, 0) - start.get(one, 0) for one in {*start, *end}}
    constant = rest.pop(None, 0)
    return None if any(rest.values()) else constant


def _cut(tensor: Any, given: slice, axis: int) -> Any:
    length = None if given.start is None or given.stop is None else constant_difference(given.start, given.stop)
    if length is None or given.step not in (None, 1):
        raise UnimplementedError(
            f"A tensor of shape {tuple(tensor.shape)} was sliced in a function, from {given.start} to {given.stop}; expected a "
            f"length that is known before the program runs, because shapes depend on it. Write x[start:start + length] with a "
            f"Python number as length, or keep the shape, and use tf.where() with tf.range()."
        )
    size, start = tensor.shape[axis], cast("Any", given.start)
    fits = (start >= 0) & (start <= size - length)
    text = (
        f"A slice of length {length} of a dimension of size {size} does not lie in it; expected that it does, because a compiled "
        f"program cannot return a shorter one. Pad the tensor, or choose a length that divides its size."
    )
    draft = HERE.get().draft
    assert draft is not None
    draft.require(fits, InvalidArgumentError, text)
    if not 0 <= length <= size:
        raise InvalidArgumentError(text)
    found = lax.dynamic_slice_in_dim(tensor, start, length, axis)
    # In a transformation of JAX nothing can be required; what does not lie in the tensor is at least no number there.
    return jnp.where(fits, found, _nothing(found.dtype))


def _nothing(dtype: Any) -> Any:
    if dtype.kind in "biu":
        return np.array(False if dtype.kind == "b" else np.iinfo(dtype).min, dtype)
    return np.array(np.nan).astype(dtype)


def _is_open(key: Any) -> bool:
    return isinstance(key, slice) and (isinstance(key.start, Tracer) or isinstance(key.stop, Tracer))


def _axes(keys: tuple[Any, ...], rank: int) -> Iterator[tuple[int, int]]:
    """The place of each key, and the dimension that it is about."""
    taken = sum(key is not None and key is not Ellipsis for key in keys)
    axis = 0
    for place, key in enumerate(keys):
        if key is Ellipsis:
            axis += rank - taken
        elif key is not None:
            yield place, axis
            axis += 1


def _form(number: Any) -> Form | None:
    """An integer as a sum of multiples of what is not known."""
    if not isinstance(number, Tracer):
        return {None: int(number)}
    if number.dtype.kind not in "iu" or number.ndim:
        return None
    tracer: Any = number
    value, step = tracer.val, tracer.parent
    known: Any = getattr(value, "val", None)
    if isinstance(known, (int, np.generic, np.ndarray)):  # a literal
        return {None: int(known)}
    combine: Any = _COMBINED.get(step.primitive.name) if step else None
    if not combine or any(one.dtype.itemsize > number.dtype.itemsize for one in step.in_tracers):  # may lose digits
        return {value: 1}
    return combine(*map(_form, step.in_tracers)) or {value: 1}


def _sum(first: Form | None, second: Form | None, sign: int = 1) -> Form | None:
    if first is None or second is None:
        return None
    return {one: first.get(one, 0) + sign * second.get(one, 0) for one in {*first, *second}}


def _product(first: Form | None, second: Form | None) -> Form | None:
    if first is None or second is None:
        return None
    for factor, other in ((first, second), (second, first)):
        if not any(times for one, times in factor.items() if one is not None):
            return {one: times * factor.get(None, 0) for one, times in other.items()}
    return None


_COMBINED: dict[str, Callable[..., Form | None]] = {
    "add": _sum,
    "sub": lambda first, second: _sum(first, second, -1),
    "mul": _product,
    "neg": lambda given: _sum({}, given, -1),
    "convert_element_type": lambda given: given,
    "copy": lambda given: given,
}
