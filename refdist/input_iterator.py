"""What v1 programs take their inputs from, and configure sessions with."""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

from refdist import nest
from refdist.data.distributed import DistributedDataset
from refdist.errors import OutOfRangeError
from refdist.values import DistributedValues


class InputIterator:
    """Gives the inputs of one step after the other; `initialize` starts it, and starts it again."""

    def __init__(self, steps: Iterable[Any]) -> None:
        self._steps = steps
        self._iterator = iter(steps)

    def initialize(self) -> None:
        """Start from the first element."""
        self._iterator = iter(self._steps)

    def get_next(self) -> Any:
        """The inputs of the next step, or an OutOfRangeError at the end."""
        for element in self._iterator:
            return element
        raise OutOfRangeError(
            "The iterator is at its end; expected a further element. Call initialize() to start again."
        )


class EvenSplitting:
    """The steps of a distributed dataset, in which all replicas must have the same number of examples."""

    def __init__(self, dataset: DistributedDataset, replicas: int) -> None:
        self._dataset, self._replicas = dataset, replicas

    def __iter__(self) -> Iterator[Any]:
        for element in self._dataset:
            for leaf in nest.flatten(element):
                sizes = [len(part) for part in leaf.values] if isinstance(leaf, DistributedValues) else [0]
                if len(set(sizes)) > 1:
                    raise ValueError(
                        f"make_dataset_iterator() got a batch of {sum(sizes)} examples for {self._replicas} replicas; expected a "
                        f"multiple of {self._replicas}. Use drop_remainder=True, or make_input_fn_iterator()."
                    )
            yield element


@dataclasses.dataclass
class _Experimental:
    collective_group_leader: str = ""


@dataclasses.dataclass
class ConfigProto:
    """The few settings of a v1 session that strategies look at."""

    allow_soft_placement: bool = False
    log_device_placement: bool = False
    inter_op_parallelism_threads: int = 0
    intra_op_parallelism_threads: int = 0
    device_filters: list[str] = dataclasses.field(default_factory=list[str])
    experimental: _Experimental = dataclasses.field(default_factory=_Experimental)
