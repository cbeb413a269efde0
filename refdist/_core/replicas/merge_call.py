"""What is done when all replicas have come to merge_call: one function is called with the arguments of all of them."""

from collections.abc import Sequence
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
    result = functions[0](strategy, *merged, **regroup(kwargs))
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
