"""What the user of a cluster chooses for all collectives: their algorithm, and the precision of their sums."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from simulator.clock import Clock
from simulator.collective_values import accumulation, is_float
from simulator.prediction import IN_SWITCH
from simulator.schedules import Schedule, all_gather, all_to_one, schedule_of

_OF_NCCL = ("ring", "double_tree")  # between which NCCL chooses by the size


@dataclasses.dataclass(frozen=True)
class CollectiveChoice:
    """An algorithm and a dtype for sums; None leaves the one to the strategy, and the other to the tensors."""

    algorithm: str | None
    accumulate: np.dtype[Any] | None

    @classmethod
    def of(cls, algorithm: str | None, accumulate: Any) -> "CollectiveChoice":
        """What a user has asked for, in the words that a user may write."""
        return cls(algorithm, accumulation(accumulate))

    def schedule(self, clock: Clock, kind: str, size: float, places: Sequence[int], algorithm: str) -> Schedule | None:
        """How devices exchange so many bytes, by this algorithm unless another was chosen; None where the switch adds."""
        if kind == "all_gather":
            return all_gather(len(places))
        chosen = self.algorithm or algorithm
        if chosen == IN_SWITCH:
            return None
        if kind == "all_to_one":
            return all_to_one(len(places))
        if chosen == "auto":
            chosen = clock.fastest(places, size)
        elif chosen == "nccl":
            chosen = clock.fastest(places, size, _OF_NCCL)
        return schedule_of(chosen, len(places), clock.host_size(places))

    def wider_than(self, dtype: np.dtype[Any]) -> np.dtype[Any] | None:
        """The dtype in which sums of another one are kept, where that is a wider one."""
        wider = self.accumulate
        if wider is None or not is_float(dtype) or wider.itemsize <= dtype.itemsize:
            return None
        return wider
