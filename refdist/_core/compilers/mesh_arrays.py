"""Arrays over the devices of a mesh: put together from the parts on this process's devices, and taken apart."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding

_MOST_KNOWN = 1024


class Assembly:
    """Puts the parts of arrays together that are spread in one way.

    JAX's own function asks again for each array what is the same for all of one shape and dtype, in 27 calls of Python. So it
    makes the first array, and all others are made like that one: by their class itself, which then checks nothing.

    Args:
        sharding: how arrays are spread; parts have to come in the order of its devices.
        count: how many times the first dimension of a part the whole array has.
    """

    def __init__(self, sharding: NamedSharding, count: int) -> None:
        self._sharding, self._count = sharding, count
        self._known: dict[tuple[Any, Any], Any] = {}  # the type of the whole array by shape and dtype of a part

    def __call__(self, parts: list[jax.Array]) -> jax.Array:
        first: Any = parts[0]
        kind = first.aval
        known = self._known.get((kind.shape, kind.dtype))
        if known is not None:
            try:
                return type(first)(known, self._sharding, parts, committed=True, _skip_checks=True)
            except (TypeError, ValueError):  # of a part that was deleted, or where JAX has changed its class
                pass
        return self._first(parts)

    def _first(self, parts: list[jax.Array]) -> jax.Array:
        for part in parts:
            part.devices()  # raises for one that was deleted, and says so
        shape, dtype = parts[0].shape, parts[0].dtype
        extended = (shape[0] * self._count, *shape[1:]) if shape else ()
        whole = jax.make_array_from_single_device_arrays(extended, self._sharding, parts)
        if isinstance(dtype, np.dtype):  # random keys have a class of their own
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[shape, dtype] = whole.aval
        return whole


def parts_of(array: Any, count: int) -> Sequence[jax.Array]:
    """The parts of an array on this process's devices; asking JAX for each of them takes five calls of Python."""
    parts = getattr(array, "_arrays", None)  # None where the array was deleted
    return [array.addressable_data(index) for index in range(count)] if parts is None else parts
