"""What the program of a worker has written to mirrored variables outside of its replicas: all workers are to write the same.

Nothing keeps the copies of different workers equal there: a checkpoint that only the chief restores, or a learning rate that
one worker alone reduces, would let them drift apart without a word.
"""

import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from refdist._core.base.call_sites import Site, own_place, where

_MOST_SHOWN = 3


class Written(NamedTuple):
    """A mirrored variable that one worker has changed since workers met."""

    name: str
    value: str  # as it is shown
    fingerprint: int
    site: Site

    def __str__(self) -> str:
        return f"{self.name!r} set to {self.value} at {where(self.site)}"

    def identity(self) -> str:
        """What has to be the same on all workers; the line may be another one."""
        return f"{self.name} {self.fingerprint}"


class _Change(NamedTuple):
    variable: Any
    before: int
    site: Site


class OwnWrites(dict[int, _Change]):
    """The writes of one worker since it last met the others, by the variable's id; a dict, so that asking for any is no call."""

    def note(self, variable: Any) -> None:
        """Remember what a variable is before it is written."""
        if id(variable) not in self:
            self[id(variable)] = _Change(variable, _fingerprint(variable), own_place())

    def taken(self) -> tuple[Written, ...]:
        """What has changed; from now on nothing has."""
        changes = list(self.values())
        self.clear()
        found: list[Written] = []
        for variable, before, site in changes:
            now = _fingerprint(variable)
            if now != before:
                found.append(Written(variable.name, _shown(variable), now, site))
        return tuple(sorted(found))


def listed(written: Sequence[Written]) -> str:
    """What one worker has written, as a text of moderate length."""
    shown = ", ".join(map(str, written[:_MOST_SHOWN]))
    return shown if len(written) <= _MOST_SHOWN else f"{shown}, ... ({len(written)} variables)"


def require_same_writes(written: Sequence[Sequence[Written]]) -> None:
    """Raise if the workers have written different things, given what each has."""
    for worker, own in enumerate(written):
        for one in own:
            for other, theirs in enumerate(written):
                same = [them for them in theirs if them.name == one.name]
                if (one.name, one.fingerprint) not in [them[:1] + them[2:3] for them in same]:
                    raise ValueError(_text(worker, one, other, same))


def _text(worker: int, one: Written, other: int, theirs: Sequence[Written]) -> str:
    instead = f"has set it to {theirs[0].value} at {where(theirs[0].site)}" if theirs else "has not"
    return (
        f"Worker {worker} has set the mirrored variable {one.name!r} to {one.value} outside of replicas, at {where(one.site)}, and "
        f"worker {other} {instead}; expected all workers to write the same, because its copies must stay equal. Write it on every "
        f"worker, with one value, or in strategy.run() with an aggregation."
    )


def _fingerprint(variable: Any) -> int:
    array = np.asarray(variable.storage.copies()[0])
    return zlib.crc32(repr(array.tolist()).encode() if array.dtype.kind == "O" else array.tobytes())


def _shown(variable: Any) -> str:
    array = np.asarray(variable.storage.copies()[0])
    if array.size == 1:
        return str(array.ravel()[0])
    return np.array2string(array.ravel()[:4], separator=", ")[:-1] + ("]" if array.size <= 4 else ", ...]")
