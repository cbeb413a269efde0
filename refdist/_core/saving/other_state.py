"""State that is not in variables of ours: the objects in which flax.nnx keeps its arrays, and the positions of iterators."""

import abc
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from refdist._core.base import nest
from refdist._core.base.enums import VariableAggregation, VariableSynchronization
from refdist._core.base.jax_facts import flax_loaded, is_random_key, key_data, key_of
from refdist._core.base.pytree_nodes import is_flax_variable, is_mutable
from refdist._core.input.position import Loop

Array = np.ndarray[Any, Any]


class OtherState(abc.ABC):
    """One array of an object that is no variable: as far as saving goes, it is like one."""

    trainable = False
    synchronization, aggregation = VariableSynchronization.AUTO, VariableAggregation.NONE

    @property
    @abc.abstractmethod
    def identity(self) -> Any:
        """What tells it from the state of all other objects."""

    @property
    @abc.abstractmethod
    def likeness(self) -> Any:
        """The dtype and the shape that a saved array must have; None where any will do."""

    @abc.abstractmethod
    def numpy(self) -> Array:
        """The state as an array."""

    @abc.abstractmethod
    def assign(self, array: Array) -> None:
        """Take the state that an array says."""

    @abc.abstractmethod
    def undo(self) -> Callable[[], None]:
        """Return a function that brings the present state back."""


class FlaxArray(OtherState):
    """One of the arrays in an `nnx.Variable`, mostly the only one."""

    def __init__(self, variable: Any, index: int) -> None:
        self._variable, self._index = variable, index

    @property
    def identity(self) -> Any:
        return id(self._variable), self._index

    @property
    def likeness(self) -> Any:
        array = self.numpy()
        return array.dtype, array.shape

    def numpy(self) -> Array:
        leaf = nest.flatten(self._variable.get_value())[self._index]
        return np.asarray(key_data(leaf)[0] if is_random_key(leaf) else leaf)

    def assign(self, array: Array) -> None:
        leaves, shape = nest.taken_apart(self._variable.get_value())
        old = leaves[self._index]
        if is_random_key(old):
            new = key_of(array, key_data(old)[1])
        else:
            new = old.__array_namespace__().asarray(array) if hasattr(old, "__array_namespace__") else array
        leaves[self._index] = new
        self._variable.set_value(nest.put_together(shape, leaves))

    def undo(self) -> Callable[[], None]:
        value = self._variable.get_value()
        return lambda: self._variable.set_value(value)


class Position(OtherState):
    """Where an iterator over data is."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop

    @property
    def identity(self) -> Any:
        return id(self._loop)

    @property
    def likeness(self) -> Any:
        return None

    def numpy(self) -> Array:
        return np.frombuffer(json.dumps(self._loop.saved_state()).encode(), np.uint8)

    def assign(self, array: Array) -> None:
        try:
            state = json.loads(array.tobytes())
        except ValueError as error:
            raise ValueError(
                f"The checkpoint has an array of {array.dtype} where an iterator is to be restored; expected a position that was "
                f"saved of one. Restore a checkpoint of the same objects."
            ) from error
        self._loop.restore_saved(state)

    def undo(self) -> Callable[[], None]:
        state = self._loop.state()
        return lambda: self._loop.restore(state)


def states_in(value: Any) -> Iterator[tuple[tuple[str, ...], OtherState]] | None:
    """The state in an iterator or in an object of flax.nnx, with the names that lead to it; None for any other object."""
    if isinstance(value, Loop):
        return iter([((), Position(value))])
    kind = type(value)
    return _of_flax(value) if is_mutable(kind) or is_flax_variable(kind) else None


def _of_flax(value: Any) -> Iterator[tuple[tuple[str, ...], OtherState]]:
    found = [((), value)]
    if not is_flax_variable(type(value)):
        found = flax_loaded().iter_graph(value)
    for place, one in found:
        if is_flax_variable(type(one)):
            for index, (inner, leaf) in enumerate(nest.named_leaves(one.get_value())):
                if hasattr(leaf, "__array__") or is_random_key(leaf) or isinstance(leaf, (int, float)):
                    yield tuple(map(str, (*place, *inner))), FlaxArray(one, index)
