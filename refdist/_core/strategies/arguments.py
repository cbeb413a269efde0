"""What a user gives to `run`: checked, taken apart, and given to each replica."""

import warnings
from collections.abc import ItemsView, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from refdist._core.base import nest
from refdist._core.base.callables import require_arguments
from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.base.options import RunOptions
from refdist._core.devices.tensor import Tensor
from refdist._core.replicas.values import DistributedValues, of_parts
from refdist._core.variables.variable import Variable

if TYPE_CHECKING:
    from refdist._core.strategies.verbs import StrategyExtended

_USUAL = (bool, int, float, complex, str, bytes, type(None), Variable, IndexedSlices)


_NO_KEYWORDS: dict[str, Any] = {}
_SINGLE = (DistributedValues, Tensor)  # what most arguments are


class Arguments:
    """The arguments of one run, from which each replica gets its own."""

    def __init__(self, extended: "StrategyExtended", args: Any, kwargs: Any) -> None:
        if kwargs or not isinstance(args, (tuple, list)):
            require_arguments(args, kwargs)
        self._extended = extended
        self._given: Any = (tuple(args), dict(kwargs or {}))
        self._leaves, self._shape = list(args), None
        # Most arguments are not nests, and need not be taken apart and rebuilt.
        if kwargs or any([not isinstance(arg, _SINGLE) and nest.is_container(arg) for arg in args]):
            self._leaves, self._shape = nest.taken_apart(self._given)
        plan = extended.plan
        count, distributed = len(plan.devices), False
        for leaf in self._leaves:
            if isinstance(leaf, DistributedValues):
                distributed = True
                if leaf.count != count:
                    require_count(leaf, count)
            elif (
                not isinstance(leaf, (plan.backend.tensor_type, *_USUAL))
                and not hasattr(leaf, "__array__")
                and not of_parts(leaf)
                and type(self._shape) is not nest.OpenedShape  # a module has functions among its parts
            ):
                _warn(leaf)
        # One for each replica. If there is nothing to take apart or to move, every replica gets the very objects that were given.
        self._rows: Any = None
        self.single: Sequence[Any] | None = (
            None  # the only argument of each replica, where there is one and it is no nest
        )
        if self._leaves and (count > 1 or distributed):
            columns = [self._column(leaf) for leaf in self._leaves]
            if self._shape is None and len(columns) == 1:
                (self.single,) = columns
            else:
                self._rows = list(zip(*columns, strict=True))

    def of(self, index: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of one replica: its own components, and tensors on its own device."""
        if self.single is not None:
            return (self.single[index],), _NO_KEYWORDS
        if self._rows is None:
            return self._given
        if self._shape is None:
            return self._rows[index], _NO_KEYWORDS
        return nest.put_together(self._shape, self._rows[index])

    def _column(self, leaf: Any) -> Sequence[Any]:
        """What each replica gets for one leaf."""
        backend, devices = self._extended.plan.backend, self._extended.plan.devices
        if not isinstance(leaf, DistributedValues):
            parts: Sequence[Any] = [leaf] * len(devices)
        elif leaf.is_variable:
            parts = [leaf.component(index) for index in range(len(devices))]
        else:
            parts = leaf.values
        if len(devices) == 1:
            return parts
        if type(leaf) is np.ndarray:
            # All replicas share one array, so none of them may change it.
            shared = leaf.view()
            shared.flags.writeable = False
            return [shared] * len(devices)
        kind, place, copy = backend.tensor_type, backend.device_of, backend.copy
        if kind is Tensor and all([type(part) is Tensor and part.lies_on is to for part, to in zip(parts, devices)]):  # noqa: B905
            return parts  # as nearly always
        return [
            copy(part, device) if isinstance(part, kind) and place(part) != device else part
            for part, device in zip(parts, devices, strict=True)
        ]


def require_options(options: Any) -> None:
    """Raise unless the options of a run are RunOptions or None."""
    if options is not None and not isinstance(options, RunOptions):
        raise TypeError(
            f"run() got options={options!r}, a {type(options).__name__}; expected tf.distribute.RunOptions, or None. Pass "
            f"arguments of the function in args or kwargs."
        )


def pairs_of(pairs: Any, what: str = "batch_reduce_to()") -> list[tuple[Any, Any]]:
    """The values that are to be combined together, each with its destinations."""
    given = list(pairs) if isinstance(pairs, (list, tuple, Iterator, ItemsView)) else [pairs]
    for pair in given:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise ValueError(
                f"{what} got {pair!r}; expected a list of pairs of a value and its destinations. Write "
                f"[(value, destinations), ...]."
            )
    return [(value, to) for value, to in given]


def require_count(value: DistributedValues, count: int) -> None:
    """Raise unless a value has a component for each replica; variables are not checked here."""
    if value.count != count and not value.is_variable:
        raise ValueError(
            f"A value with {value.count} components met a strategy of {count} replicas; expected one component for each "
            f"replica. Make the value with the strategy that uses it."
        )


def _warn(leaf: Any) -> None:
    warnings.warn(
        f"run() got an argument of type {type(leaf).__name__}; expected tensors, nests of tensors, or distributed values. It is "
        f"passed to every replica as it is; close over it instead.",
        UserWarning,
        stacklevel=6,
    )
