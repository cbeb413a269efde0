"""Who got which sample: a record that shows which were lost or repeated."""

import dataclasses
from collections.abc import Iterator


@dataclasses.dataclass(frozen=True, slots=True)
class Delivery:
    """The samples that one replica got in one step; a sample is numbered in the order of its pass over the data."""

    loop: int
    step: int
    replica: int
    device: str
    samples: range


class Ledger:
    """All deliveries since it was opened, in order.

    >>> ledger = Ledger()
    >>> ledger.record(loop=0, step=0, replica=1, device="GPU:1", samples=range(4, 6))
    >>> list(ledger.replicas_of(5))
    [1]
    """

    def __init__(self) -> None:
        self.deliveries: list[Delivery] = []
        self.loops = 0

    def new_loop(self) -> int:
        """Number a further loop over distributed data."""
        self.loops += 1
        return self.loops - 1

    def record(self, loop: int, step: int, replica: int, device: str, samples: range) -> None:
        """Note one delivery."""
        self.deliveries.append(Delivery(loop, step, replica, device, samples))

    def replicas_of(self, sample: int, loop: int = 0) -> Iterator[int]:
        """The replicas that got a sample: in a sound loop, exactly one."""
        return (one.replica for one in self.deliveries if one.loop == loop and sample in one.samples)
