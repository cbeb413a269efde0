"""Replicas that got no rows: of the batch that was delivered last, and of a whole loop; what comes from them is seldom a number."""

import warnings
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from refdist._core.base import nest
from refdist._core.base.call_sites import Site, call_site, frames_to_program, where
from refdist._core.base.enums import ReduceOp
from refdist._core.replicas.values import DistributedValues

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
    means: Mapping[int, str] = MappingProxyType({})  # of no numbers: where a replica has first taken one meanwhile


def run_with(arguments: Any) -> None:
    """Note whether replicas begin to run with what was delivered last."""
    with_it = any(id(leaf) in Served.values for leaf in nest.flatten(arguments))
    Served.running = Served.unfed if with_it else None
    Served.means = {}


def remark_on(replica: int) -> str:
    """What to say of a replica that runs with nothing of a batch; else nothing."""
    unfed = Served.running
    if unfed is None or replica not in unfed.replicas:
        return ""
    return f", which got an empty piece of batch {unfed.step} of its loop (of {unfed.rows} rows)"


def defers(replica: int, place: str) -> bool:
    """Say whether a mean of no numbers is told only where it leaves its replica: until then the replica can still replace it."""
    unfed = Served.running
    if unfed is None or replica not in unfed.replicas:
        return False
    Served.means = {replica: place, **Served.means}
    return True


def look(parts: Sequence[Any], what: str, *, infinite: bool = False) -> None:
    """Warn, once for a batch, of a replica without rows from which something comes that is not a number.

    Where it comes from the others as well, it has another reason.

    Args:
        parts: what comes from each replica, a nest of tensors.
        infinite: whether infinities are wrong, too: in a sum, but not where they stand for the largest of nothing.
    """
    unfed = Served.running
    if unfed is None:
        return
    bad = [index for index, part in enumerate(parts) if _not_numbers(part, infinite)]
    hungry = [index for index in bad if index in unfed.replicas]
    if not hungry or len(hungry) < len(bad):
        return
    Served.running = None
    place = Served.means.get(hungry[0], "")
    taken = f" (the mean of no numbers, taken at {place})" if place else ""
    those = f"Replica{'s' * (len(hungry) > 1)} {', '.join(map(str, hungry[:4]))}{', ...' * (len(hungry) > 4)}"
    warnings.warn(
        f"{those} of {len(parts)}, which got an empty piece of batch {unfed.step} of the loop (of {unfed.rows} rows), {what} what "
        f"is not a number{taken}, at {where(call_site()[:1])}; expected a number, because it spoils that of all replicas. Divide a "
        f"sum by the size of the global batch, skip empty pieces, or use drop_remainder=True.",
        RuntimeWarning,
        stacklevel=frames_to_program(),
    )


def look_at_pairs(op: ReduceOp, pairs: Sequence[tuple[Any, Any]]) -> None:
    """Look at what replicas without rows bring to reductions."""
    for value, _ in pairs:
        if isinstance(value, DistributedValues):
            look(value.values, f"brought to reduce({op.name})", infinite=True)


def _not_numbers(value: Any, infinite: bool) -> bool:
    leaves = nest.flatten(value) if nest.is_container(value) else [value]
    arrays = [np.asarray(one) for one in leaves if isinstance(one, float) or hasattr(one, "__array__")]
    return any(
        not np.isfinite(one).all() if infinite else np.isnan(one).any() for one in arrays if one.dtype.kind in "fc"
    )


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
