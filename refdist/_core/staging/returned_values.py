"""What leaves a function: variables as their values, Python numbers as tensors."""

from collections.abc import Callable
from typing import Any

from refdist._core.base import nest
from refdist._core.base.jax_facts import is_jax
from refdist._core.devices.tensor import Tensor
from refdist._core.replicas import context
from refdist._core.replicas.values import DistributedValues
from refdist._core.variables.tensors import current_value, new_tensor
from refdist._core.variables.variable import Variable

_NUMBERS = (bool, int, float, complex)
_TEXT = (str, bytes)


def returned_from_draft(result: Any) -> Any:
    """What a nest becomes when it leaves a function while its program is written."""
    return nest.map_structure(leaf_from_draft, result)


def leaf_from_draft(leaf: Any) -> Any:
    """The same for one leaf; text cannot be part of a program, and stays what it is."""
    leaf = current_value(leaf)
    if isinstance(leaf, _TEXT) or not (isinstance(leaf, (*_NUMBERS, Tensor)) or _foreign_array(leaf)):
        return leaf
    return new_tensor(context.backend(), leaf)


def returned_from_python(result: Any) -> Any:
    """What a nest becomes when it leaves a function whose body ran in Python; text becomes a tensor, too."""
    return nest.map_structure(_leaf_from_python, result)


def _leaf_from_python(leaf: Any) -> Any:
    if isinstance(leaf, DistributedValues) and not isinstance(leaf, Variable):
        plain = any(isinstance(value, (*_NUMBERS, *_TEXT)) for value in leaf.values)
        return type(leaf)([_leaf_from_python(value) for value in leaf.values]) if plain else leaf
    leaf = current_value(leaf)
    return new_tensor(context.backend(), leaf) if isinstance(leaf, (*_NUMBERS, *_TEXT)) else leaf


def _foreign_array(leaf: Any) -> bool:
    return hasattr(leaf, "__array__") and not is_jax(leaf) and not isinstance(leaf, DistributedValues)


def returning_from_python(body: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose results are treated like that."""
    return lambda *args, **kwargs: returned_from_python(body(*args, **kwargs))
