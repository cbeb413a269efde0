"""What a user gives to `run`: checked, taken apart, and passed_through to each replica."""

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import optree

from refdist._core.base import nest
from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.base.options import RunOptions
from refdist._core.replicas.values import DistributedValues
from refdist._core.variables.variable import Variable

if TYPE_CHECKING:
    from refdist._core.strategies.extended import StrategyExtended

_USUAL = (bool, int, float, complex, str, bytes, type(None), Variable, IndexedSlices)


_NO_KEYWORDS: dict[str, Any] = {}


class Arguments:
    """The arguments of one run, from which each replica gets its own."""

    def __init__(self, extended: "StrategyExtended", args: Any, kwargs: Any) -> None:
        require_arguments(args, kwargs)
        self._extended = extended
        self._given: Any = (tuple(args), dict(kwargs or {}))
        # Most arguments are no nests, and need not be taken apart and rebuilt.
        simple = not kwargs and not any(isinstance(arg, nest.CONTAINERS) for arg in args)
        if simple:
            self._leaves, self._shape = list(args), None
        else:
            self._leaves, self._shape = optree.tree_flatten(self._given, none_is_leaf=True)
        several, distributed = extended.num_replicas > 1, False
        for leaf in self._leaves:
            if isinstance(leaf, DistributedValues):
                distributed = True
                require_count(leaf, extended.num_replicas)
            elif not isinstance(leaf, extended.plan.backend.tensor_type) and not _usual(leaf):
                _warn(leaf)
        # Without anything to take apart or to move, every replica gets the very objects that were given.
        self._columns = [self._column(leaf) for leaf in self._leaves] if several or distributed else None

    def of(self, index: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of one replica: its own components, and tensors on its own device."""
        if self._columns is None:
            return self._given
        leaves = [column[index] for column in self._columns]
        if self._shape is None:
            return tuple(leaves), _NO_KEYWORDS
        return optree.tree_unflatten(self._shape, leaves)  # pyright: ignore[reportReturnType]

    def _column(self, leaf: Any) -> Sequence[Any]:
        """What each replica gets for one leaf."""
        backend, devices = self._extended.plan.backend, self._extended.plan.devices
        parts = [leaf] * len(devices)
        if isinstance(leaf, DistributedValues):
            parts = [leaf.component(index) for index in range(len(devices))]
        if len(devices) == 1:
            return parts
        if type(leaf) is np.ndarray:
            # One array for all replicas: none of them may change it under the hands of the others.
            shared = leaf.view()
            shared.flags.writeable = False
            return [shared] * len(devices)
        kind, place, copy = backend.tensor_type, backend.device_of, backend.copy
        return [
            copy(part, device) if isinstance(part, kind) and place(part) != device else part
            for part, device in zip(parts, devices, strict=True)
        ]


def require_arguments(args: Any, kwargs: Any) -> None:
    """Raise unless the arguments of a run come in a tuple and a dict."""
    if not isinstance(args, (tuple, list)):
        raise ValueError(
            f"run() got args={args!r}; expected a tuple or list of positional arguments. Write args=({args!r},)."
        )
    if kwargs is not None and not isinstance(kwargs, Mapping):
        raise ValueError(f"run() got kwargs={kwargs!r}; expected a dict of keyword arguments, or None. Pass a dict.")


def require_options(options: Any) -> None:
    """Raise unless the options of a run are RunOptions, or none."""
    if options is not None and not isinstance(options, RunOptions):
        raise TypeError(
            f"run() got options={options!r}, a {type(options).__name__}; expected tf.distribute.RunOptions, or None. Pass "
            f"arguments of the function in args or kwargs."
        )


def require_count(value: DistributedValues, count: int) -> None:
    """Raise unless a value has a component for each replica; variables look after themselves."""
    if len(value.values) != count and not isinstance(value, Variable):
        raise ValueError(
            f"A value with {len(value.values)} components met a strategy of {count} replicas; expected one component for each "
            f"replica. Make the value with the strategy that uses it."
        )


def _usual(leaf: Any) -> bool:
    return isinstance(leaf, _USUAL) or hasattr(leaf, "__array__")


def _warn(leaf: Any) -> None:
    warnings.warn(
        f"run() got an argument of type {type(leaf).__name__}; expected tensors, nests of tensors, or distributed values. It is "
        f"passed to every replica as it is; close over it instead.",
        UserWarning,
        stacklevel=6,
    )
