"""What the user of a cluster chooses for all collectives: their algorithm, and the precision of their sums."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from simulator.algorithms.collective_values import accumulation, is_float
from simulator.algorithms.schedules import Schedule, all_gather, all_to_one, schedule_of
from simulator.devices.clock import Clock
from simulator.libraries.library import Launch, Library
from simulator.libraries.library_times import Estimate, estimate
from simulator.machines.fabric import Shape, shape_of
from simulator.predictions.prediction import IN_SWITCH

_OF_NCCL = ("ring", "double_tree")  # between which NCCL chooses by the size
_ORDERS = {"ring": "ring", "tree": "double_tree"}  # in which an algorithm of a library adds; others add in switches
_LIBRARY_KINDS = {"all_gather": "all_gather", "all_to_one": "reduce"}


@dataclasses.dataclass(frozen=True)
class CollectiveChoice:
    """An algorithm and a dtype for sums; None leaves the one to the strategy, and the other to the tensors.

    With a library, the algorithm is one of its own, None leaves it to the library, and times are the library's.
    """

    algorithm: str | None
    accumulate: np.dtype[Any] | None
    library: Library | None = None
    launch: Launch = dataclasses.field(default_factory=Launch)

    @classmethod
    def of(
        cls, algorithm: str | None, accumulate: Any, library: Library | None = None, launch: Launch | None = None
    ) -> "CollectiveChoice":
        """What a user has asked for, in the words that a user may write."""
        return cls(algorithm, accumulation(accumulate), library, launch or Launch())

    def schedule(self, clock: Clock, kind: str, size: float, places: Sequence[int], algorithm: str) -> Schedule | None:
        """How devices exchange so many bytes, by this algorithm unless another was chosen; None where the switch adds."""
        if kind == "all_gather":
            return all_gather(len(places))
        if self.library is not None and kind != "all_to_one":
            order = _ORDERS.get(self.estimate(clock, "all_reduce", size, places).algorithm)
            return None if order is None else schedule_of(order, len(places), clock.host_size(places))
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

    def estimate(self, clock: Clock, name: str, size: float, places: Sequence[int]) -> Estimate:
        """How long the library takes for a collective between some devices.

        Args:
            name: of the schedule, or of the kind of collective.
        """
        assert self.library is not None
        kind = _LIBRARY_KINDS.get(name, "all_reduce")
        algorithm = self.algorithm if kind == "all_reduce" and self.algorithm != "auto" else None
        whole = shape_of(clock.cluster, "A collective")
        local = clock.host_size(places)
        shape = Shape(whole.fabric, len(places) // local, local, whole.inside_microseconds, whole.outside_microseconds)
        return estimate(self.library, shape, kind, size, self.launch, algorithm)

    def wider_than(self, dtype: np.dtype[Any]) -> np.dtype[Any] | None:
        """The dtype in which sums of another one are kept, where that is a wider one."""
        wider = self.accumulate
        if wider is None or not is_float(dtype) or wider.itemsize <= dtype.itemsize:
            return None
        return wider
