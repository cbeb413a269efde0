"""The worker that reads the data, among all workers."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from refdist._core.base import nest
from refdist._core.replicas.values import PerReplica


@dataclasses.dataclass(frozen=True)
class InputWorker:
    """The worker that reads the data: its number among all input pipelines, and how many replicas they feed."""

    pipelines: int
    index: int
    replicas: int  # of all workers
    # What each worker says, given what is asked, and what this one says; one that runs alone hears itself.
    of_each: Callable[[str, Any], Sequence[Any]] = lambda kind, own: [own]

    def any_continues(self, step: Any) -> tuple[bool, bool]:
        """Say whether any worker has another step, and whether all have one of the same shapes, given this one's, or None."""
        own = None if step is None else str([_shapes(leaf) for leaf in nest.flatten(step)])
        outlines = set(self.of_each("the next step of a distributed dataset", own))
        return outlines != {None}, len(outlines) == 1


def _shapes(leaf: Any) -> Any:
    return [np.shape(part) for part in leaf.values] if isinstance(leaf, PerReplica) else [np.shape(leaf)]
