"""Pieces of batches: how large they are, how they are cut, and what stands for one without examples."""

from typing import Any

import numpy as np

from refdist._core.base import nest
from refdist._core.input.element_parts import Parts
from refdist._core.replicas.specs import require_tensor
from refdist._core.replicas.values import PerReplica, of_parts


def rows_of(element: Any) -> int:
    """How many examples an element has; one without a batch dimension is one."""
    first = nest.flatten(element)[0]
    return len(first) if np.ndim(first) else 1


def size_of(batch: Any) -> int:
    """How many examples a batch has, in all of its parts."""
    leaves = nest.flatten(batch)
    for leaf in leaves:
        require_batch(np.ndim(require_tensor(leaf)))
    if any(len(leaf) != len(leaves[0]) for leaf in leaves):
        raise ValueError(
            f"A batch has parts with {', '.join(str(len(leaf)) for leaf in leaves)} examples; expected the same number in all "
            f"of them. Batch them together."
        )
    return len(leaves[0])


def piece_of(batch: Any, start: int, stop: int) -> Any:
    """Some of the examples of a batch."""
    if type(batch) is np.ndarray:
        return batch[start:stop]
    return nest.map_structure(lambda leaf: leaf[start:stop], batch)


def empty_like(leaf: Any) -> Any:
    """The same without examples."""
    if isinstance(leaf, PerReplica):
        return PerReplica([empty_like(part) for part in leaf.values])
    if of_parts(leaf):
        nothing = leaf.host_parts()[:0]
        return nothing if isinstance(leaf, Parts) else nothing.tensor(lambda array: array)
    if np.ndim(leaf) == 0:
        raise ValueError(
            "The dataset ended in the middle of a step, and its elements have no batch dimension that could be empty for the "
            "replicas that are left over; expected batches, or a multiple of the replicas. Use batch(), or take() a multiple."
        )
    return leaf[:0]


def zeros_of(leaf: Any) -> Any:
    """A tensor that fits a spec; sizes that are open are 0."""
    return leaf.example(0) if of_parts(leaf) else np.zeros([size or 0 for size in leaf.sizes], leaf.dtype)


def require_batch(rank: int) -> None:
    """Raise if a tensor has no batch dimension."""
    if rank == 0:
        raise ValueError(
            "A dataset of scalars was to be split over several replicas; expected batches of the global batch size. Call "
            "batch() on it, or use distribute_datasets_from_function, which splits nothing."
        )
