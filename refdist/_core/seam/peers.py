"""The other workers of a cluster, as a protocol: what a strategy asks of them where each is a process of its own."""

import functools
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from refdist._core.base import nest
from refdist._core.base.writes_of_one_worker import OwnWrites

UNEVEN: dict[int, Any] = {}
"""Tensors of a step in which workers have pieces of different shapes, by id: no single program takes these."""


class Peers(Protocol):
    """All workers of a cluster, seen from one of them."""

    index: int  # of this worker
    count: int
    own_writes: OwnWrites  # what this worker has written to mirrored variables since it last met the others

    def exchange(self, kind: str, payloads: Sequence[Any], timeout_seconds: float | None = None) -> list[Any]:
        """Send the payloads of this worker's replicas to all workers, and return those of all replicas, in order."""
        ...

    def agree(self, what: str, text: str, otherwise: Callable[[], str]) -> bool:
        """Say whether all workers say the same; raise if they do not say the same otherwise, either, or nothing."""
        ...

    def run(self, program: Callable[..., Any], what: str, values: Sequence[Any]) -> Any:
        """Run a program that is spread over all workers."""
        ...

    def first_run(self) -> AbstractContextManager[Any]:
        """Surround the first run of such a program."""
        ...


def mark_uneven(tensors: Iterable[Any]) -> None:
    """Remember, while tensors live, that other workers have some of another shape in their place."""
    for tensor in tensors:
        UNEVEN[id(tensor)] = weakref.ref(tensor, functools.partial(_forget, id(tensor)))


def _forget(key: int, _: Any) -> None:
    UNEVEN.pop(key, None)


def uneven(structure: Any) -> bool:
    """Say whether a nest has tensors that are marked."""
    return bool(UNEVEN) and any(id(leaf) in UNEVEN for leaf in nest.flatten(structure))
