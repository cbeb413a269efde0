"""The other workers of a cluster, as a protocol: what a strategy asks of them, wherever they run."""

from collections.abc import Sequence
from typing import Any, Protocol


class Peers(Protocol):
    """All workers of a cluster, seen from one of them."""

    index: int  # of this worker
    count: int

    def exchange(self, kind: str, payloads: Sequence[Any]) -> list[Any]:
        """Send the payloads of this worker's replicas to all workers, and return those of all replicas, in order."""
        ...
