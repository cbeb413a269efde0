"""What Python's variables hold where a program branches or repeats: tensors that it carries along, and everything else."""

import dataclasses
import numbers
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree

from refdist._core.base import nest
from refdist._core.base.convert import to_array
from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.base.jax_facts import is_jax
from refdist._core.base.where import HERE
from refdist._core.devices.tensor import Tensor, dtype_name
from refdist._core.replicas import context
from refdist._core.replicas.values import DistributedValues, PerReplica
from refdist._core.variables.tensors import current_value
from refdist._core.variables.variable import Variable


class Undefined:
    """Stands for a variable of Python that has no value yet."""

    __slots__ = ("symbol_name",)

    def __init__(self, symbol_name: str) -> None:
        self.symbol_name = symbol_name

    def __repr__(self) -> str:
        return f"<no value for {self.symbol_name}>"


class NotReturned:
    """Stands for the result of a function that has not returned yet."""


def is_missing(value: Any) -> bool:
    """Say whether a variable has no value yet."""
    return isinstance(value, (Undefined, NotReturned))


@dataclasses.dataclass(frozen=True)
class Held:
    """What a variable of Python holds, taken apart into tensors."""

    value: Any
    kind: Any  # equal kinds are put together in the same way
    parts: Sequence[Any]
    close: Callable[[Sequence[Any]], Any]
    made: Sequence[Any] = ()  # the parts as tensors, once they are needed

    def __str__(self) -> str:
        if is_missing(self.value):
            return "without a value"
        return repr(
            self.close([_shown(part) for part in self.parts]) if nest.is_nested(self.value) else _shown(self.value)
        )

    @property
    def carried(self) -> bool:
        """Whether a program can carry it: it has tensors or numbers, and nothing else."""
        return all(is_tensor(part) or _is_number(part) for part in self.parts)

    def tensors(self) -> list[Any]:
        """The parts as tensors; numbers get the dtype that tf.constant gives them."""
        return [as_tensor(part) for part in self.parts]


def held(value: Any) -> Held:
    """Take apart what a variable holds."""
    if isinstance(value, nest.CONTAINERS):
        leaves, shape = optree.tree_flatten(value, none_is_leaf=True)
        inner = [held(leaf) for leaf in leaves]
        parts, close = _joined(inner, shape)
        return Held(value, (shape, tuple(one.kind for one in inner)), parts, close)
    if hasattr(value, "with_parts"):  # a TensorArray
        return Held(value, value.kind, value.parts, value.with_parts)
    if isinstance(value, IndexedSlices):
        given, shape = [value.values, value.indices], value.dense_shape
        return Held(value, IndexedSlices, given, lambda parts: IndexedSlices(parts[0], parts[1], shape))
    if isinstance(value, DistributedValues) and not isinstance(value, Variable):
        return _of_replicas(value)
    return Held(value, None, [value], lambda parts: parts[0])


def _joined(inner: Sequence[Held], shape: Any) -> tuple[list[Any], Callable[[Sequence[Any]], Any]]:
    def close(parts: Sequence[Any]) -> Any:
        given = iter(parts)
        leaves = [one.close([next(given) for _ in one.parts]) for one in inner]
        return optree.tree_unflatten(shape, leaves)

    return [part for one in inner for part in one.parts], close


def _of_replicas(value: Any) -> Held:
    """A value with a component for each replica; in a draft, one tensor may stand for all of them."""
    if hasattr(value, "own"):
        inner = held(value.own)
        return Held(value, (type(value), inner.kind), inner.parts, lambda parts: value.beside(inner.close(parts)))
    inner = held(tuple(value.values))
    return Held(value, (PerReplica, inner.kind), inner.parts, lambda parts: PerReplica(inner.close(parts)))


@dataclasses.dataclass(frozen=True)
class _Shown:
    """A tensor in a message, where what stands for it would say nothing."""

    tensor: Any

    def __repr__(self) -> str:
        return f"<{spec_text(self.tensor)}>"


def _shown(value: Any) -> Any:
    return _Shown(value) if is_tensor(value) else value


def is_tensor(value: Any) -> bool:
    """Say whether a value is a tensor, or an array or a variable that can become one."""
    if isinstance(value, Variable):
        return value.dtype.kind not in "OSU"
    return (is_jax(value) and value.dtype.kind not in "OSU") or (
        isinstance(value, (Tensor, np.ndarray, np.generic)) and value.dtype.kind not in "OSU"
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, numbers.Number)) and not isinstance(value, np.generic)


def as_tensor(value: Any) -> Any:
    """A tensor of the program, from one or from a number; of a variable, its value at this point."""
    value = current_value(value)
    if is_jax(value):
        return value
    array = to_array(value)
    draft = HERE.get().draft
    if draft is not None:
        draft.require_wide(array.dtype)
    return context.backend().put(array, None)


def spec_text(tensor: Any) -> str:
    """The dtype and the shape of a tensor, for a message."""
    return f"{dtype_name(tensor.dtype)} of shape {tuple(tensor.shape)}"


def has_grown(first: Held, second: Held) -> bool:
    """Say whether a TensorArray has another size in another place."""
    return all(hasattr(one.value, "with_parts") for one in (first, second)) and first.kind != second.kind


def same_python(first: Held, second: Held) -> bool:
    """Say whether two variables hold the same, as far as Python can tell without a tensor's value."""
    if first.value is second.value or (is_missing(first.value) and is_missing(second.value)):
        return True
    if first.kind != second.kind or len(first.parts) != len(second.parts):
        return False
    return all(a is b or _equal(a, b) for a, b in zip(first.parts, second.parts, strict=True))


def _equal(a: Any, b: Any) -> bool:
    plain = (bool, int, float, complex, str, bytes, type(None))
    return type(a) is type(b) and isinstance(a, plain) and a == b
