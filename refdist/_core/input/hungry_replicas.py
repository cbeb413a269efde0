"""Replicas that got no rows: of the batch that was delivered last, and of a whole loop."""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

from refdist._core.base import nest
from refdist._core.base.call_sites import Site, where

_MANY = 16  # steps, after which an endless loop is judged, too


class Unfed(NamedTuple):
    """The replicas of a worker that got nothing of a batch."""

    step: int  # of its loop, from 1
    rows: int  # that the others got
    replicas: frozenset[int]


class Served:
    """What was delivered last in this process: almost always, every replica gets something."""

    unfed: Unfed | None = None
    values: frozenset[int] = frozenset()  # the ids of what was delivered
    running: Unfed | None = None  # the same, while replicas run with it


def run_with(arguments: Any) -> None:
    """Note whether replicas begin to run with what was delivered last."""
    with_it = any(id(leaf) in Served.values for leaf in nest.flatten(arguments))
    Served.running = Served.unfed if with_it else None


def remark_on(replica: int) -> str:
    """What to say of a replica that runs with nothing of a batch; else nothing."""
    unfed = Served.running
    if unfed is None or replica not in unfed.replicas:
        return ""
    return f", which got an empty piece of batch {unfed.step} of its loop (of {unfed.rows} rows)"


class Rations:
    """Who has got something in a loop so far."""

    def __init__(self, made_at: Site) -> None:
        self._made_at, self._steps = made_at, 0
        self._never: set[int] | None = None  # those that never got anything; None before the first step

    def serve(self, element: Any, samples: Sequence[range]) -> None:
        """Note the samples of each replica in a step."""
        self._steps += 1
        if all(samples):
            self._never, Served.unfed, Served.running = set(), None, None
            return
        hungry = {replica for replica, own in enumerate(samples) if not own}
        Served.unfed = Unfed(self._steps, sum(map(len, samples)), frozenset(hungry))
        Served.values = frozenset(map(id, nest.flatten(element)))
        self._never = hungry if self._never is None else self._never & hungry
        if self._steps == _MANY:
            self.judge()

    def judge(self) -> None:
        """Warn of replicas that never got anything, in a loop of more than one step."""
        if self._steps < 2 or not self._never:
            return
        never, self._never = sorted(self._never), set()
        who = f"Replica{'s' * (len(never) > 1)} {', '.join(map(str, never[:4]))}{', ...' * (len(never) > 4)}"
        warnings.warn(
            f"{who} got no rows in any of the {self._steps} steps of the loop over the dataset that was distributed at "
            f"{where(self._made_at[:1])}; expected a share of each batch for everybody. Choose a batch size that the number of "
            f"replicas divides, or fewer replicas; with several workers, shard by element in place of files.",
            RuntimeWarning,
            stacklevel=4,
        )
