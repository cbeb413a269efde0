"""What is done when all replicas have come to merge_call: one function is called with the arguments of all of them."""

import contextlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from refdist._core.base import nest
from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.replicas.values import DistributedValues, regroup, select
from refdist._core.seam.capabilities import Commits, capability

if TYPE_CHECKING:
    from refdist._core.strategies.strategy import StrategyBase


def merge_together(strategy: "StrategyBase", payloads: Sequence[Any]) -> Sequence[Any]:
    """Call the function that all replicas have brought to merge_call, with what each has given it, and return all answers."""
    functions, args, kwargs = zip(*payloads, strict=True)
    merged = [regroup(column) for column in zip(*args, strict=True)]
    named = regroup(kwargs)
    try:
        result = functions[0](strategy, *merged, **named)
    except TypeError:
        require_fitting(functions[0], strategy, merged, named)
        raise
    for leaf in nest.flatten(result):
        if isinstance(leaf, DistributedValues) and not leaf.is_variable and len(leaf.values) != len(payloads):
            raise ValueError(
                f"The function given to merge_call returned a value with {len(leaf.values)} components; expected one for each of "
                f"the {len(payloads)} replicas. Return a value of this strategy, or a plain one."
            )
    committing = capability(strategy.extended.backend, Commits)
    if committing is not None and len(payloads) > 1:
        loosened = committing.loosened  # one tensor for all, which each uses on its own device
        result = nest.map_structure(
            lambda leaf: leaf.mapped(loosened) if isinstance(leaf, IndexedSlices) else loosened(leaf), result
        )
    return [select(result, index) for index in range(len(payloads))]


def require_fitting(
    merge_fn: Callable[..., Any], strategy: "StrategyBase", args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """Raise if a function given to merge_call does not take what it is called with, which Python says without the strategy."""
    with contextlib.suppress(ValueError):  # a function written in C
        signature = inspect.signature(merge_fn)
        try:
            signature.bind(strategy, *args, **kwargs)
        except TypeError as error:
            given = ", ".join(
                ["strategy", *(f"args[{place}]" for place in range(len(args))), *(f"{name}=" for name in kwargs)]
            )
            raise TypeError(
                f"merge_call() got a function with the parameters {signature}; expected to call it as merge_fn({given}). Take the "
                f"strategy as the first parameter."
            ) from error
