"""How v1 programs make variables."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from refdist._core.base.dtypes import numpy_dtype
from refdist._core.variables.variable import Variable


def enable_eager_execution(config: Any = None, device_policy: Any = None, execution_mode: Any = None) -> None:
    """Accept the call that v1 programs start with; execution is eager here in any case."""


@dataclasses.dataclass(frozen=True)
class Partitioner:
    """Asks for a variable to be cut into shards."""

    num_shards: int
    axis: int = 0


def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Partitioner:
    """Ask for a fixed number of shards; strategies refuse it, as the documentation says."""
    return Partitioner(num_shards, axis)


def get_variable(
    name: str,
    shape: Any = None,
    dtype: Any = np.float32,
    initializer: Callable[..., Any] | Any = None,
    trainable: bool | None = None,
    partitioner: Partitioner | None = None,
    **options: Any,
) -> Any:
    """Make a variable by name and shape; without an initializer it starts at zero."""
    if partitioner is not None:
        raise ValueError(
            f"get_variable({name!r}) got a partitioner; expected none, because partitioned variables are supported neither "
            f"eagerly nor in the scope of a strategy. Leave it out."
        )
    initial = np.zeros(tuple(shape or ()), numpy_dtype(dtype)) if initializer is None else initializer
    if callable(initial):
        function = initial

        def made() -> Any:
            return function(shape, dtype) if shape is not None else function()

        initial = made
    return Variable(initial, trainable, name=name, dtype=dtype, **options)
