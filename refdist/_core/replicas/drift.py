"""Copies of mirrored variables that somebody has written by itself: all are to be equal again when replicas run."""

import weakref
from typing import Any

import numpy as np

from refdist._core.base.call_sites import call_site, where


class Suspect:
    """A variable of which one copy was written by itself."""

    def __init__(self, variable: Any, place: int) -> None:
        self._variable, self._place, self._site = weakref.ref(variable, self._forget), place, call_site()[:1]
        self._key = id(variable.storage)
        SUSPECTS[self._key] = self

    def _forget(self, _: object) -> None:
        SUSPECTS.pop(self._key, None)

    def belongs_to(self, strategy: Any) -> bool:
        """Say whether it is a variable of a strategy."""
        variable = self._variable()
        return variable is not None and variable.distribute_strategy is strategy

    def require_no_drift(self) -> None:
        """Raise if its copies differ; else it is suspected no longer."""
        variable = self._variable()
        if variable is None:
            return
        copies = [np.asarray(copy) for copy in variable.storage.copies()]
        different = [place for place, copy in enumerate(copies) if copy.tobytes() != copies[0].tobytes()]
        if different:
            raise ValueError(
                f"The copies of the mirrored variable {variable.name!r} differ: {_short(copies[0])} on replica 0, "
                f"{_short(copies[different[0]])} on replica {different[0]}; expected equal ones where replicas begin to run. Copy "
                f"{self._place} was written by itself at {where(self._site)}: write the variable, which writes all of its copies."
            )
        self._forget(None)


SUSPECTS: dict[int, Suspect] = {}
"""By the id of their storage, until replicas run with them; almost always there are none."""


def suspect(variable: Any, place: int) -> None:
    """Remember that one copy of a mirrored variable was written by itself."""
    Suspect(variable, place)


def require_no_drift(strategy: Any) -> None:
    """Raise if the copies of a variable of a strategy differ."""
    for one in list(SUSPECTS.values()):
        if one.belongs_to(strategy):
            one.require_no_drift()


def _short(array: np.ndarray[Any, Any]) -> str:
    if array.size == 1:
        return str(array.ravel()[0])
    return np.array2string(array.ravel()[:4], separator=", ")[:-1] + ("]" if array.size <= 4 else ", ...]")
