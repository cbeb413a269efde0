"""A journal that keeps what it is told as plain values: runs, meetings, variables made, writes."""

import contextlib
import dataclasses
import sys
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import numpy as np

from refdist._core.base import nest
from refdist._core.base.call_sites import Place, Site, call_site, of_user
from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.base.journal import Journal
from refdist._core.base.where import HERE, entered
from refdist._core.replicas.values import DistributedValues
from refdist._core.staging.eager_functions import functions_run_eagerly, run_functions_eagerly
from refdist._core.variables.variable import LIVE

Arrays = tuple[np.ndarray[Any, Any], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Ran:
    """A strategy runs a function on its replicas."""

    function: str
    replicas: int
    strategy: str
    site: Site


@dataclasses.dataclass(frozen=True, slots=True)
class Met:
    """Replicas have met, or code outside of them has combined what they returned."""

    kind: str  # all_reduce(SUM), reduce(MEAN), assign_add, merge_call and so on
    brought: tuple[Arrays, ...]  # the tensors that each replica has brought
    answers: tuple[Arrays, ...]  # those that each has got; outside of the replicas, the one result
    site: Site


@dataclasses.dataclass(frozen=True, slots=True)
class Made:
    """A variable was made."""

    number: int  # from 0, in the order in which they were made
    name: str
    value: np.ndarray[Any, Any]
    site: Site


@dataclasses.dataclass(frozen=True, slots=True)
class Written:
    """A variable has taken a new value."""

    number: int  # of the variable
    name: str
    verb: str  # assign, assign_add and so on; empty for what a compiled program has written
    copy: int | None  # the one that was written; None stands for all of them
    before: Arrays  # of this copy, or of each
    after: Arrays
    own_copies: str  # how the replicas' own copies become one value; empty where all copies are equal
    site: Site


Event = Ran | Met | Made | Written


class RecordedJournal(Journal):
    """What has happened since it was opened, in order."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.variables: list[Any] = []  # by number; kept, so that no other variable gets the identity of one
        self.strategies: list[Any] = []  # those that have run something, each once
        self._numbers: dict[int, int] = {}
        self._open: list[tuple[str, Site, Site]] = []  # the meetings that are held at present

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def ran(self, strategy: Any, function: Any) -> None:
        if not any(known is strategy for known in self.strategies):
            self.strategies.append(strategy)
        name = getattr(function, "__name__", type(function).__name__)
        self.events.append(Ran(name, strategy.num_replicas_in_sync, repr(strategy), self._site()))

    def meets(self, kind: str, site: Site) -> None:
        self._open.append((kind, site, call_site(2)))

    def met(self, payloads: Sequence[Any], answers: Sequence[Any] | None) -> None:
        kind, site, _ = self._open.pop()
        if answers is not None:
            brought = tuple(map(arrays_of, payloads))
            self.events.append(Met(kind, brought, tuple(map(arrays_of, answers)), site + HERE.get().called_from))

    def combined(self, kind: str, value: Any, result: Any) -> None:
        parts = value.values if isinstance(value, DistributedValues) else [value]
        answer = result.values[0] if isinstance(result, DistributedValues) else result
        self.events.append(Met(kind, tuple(map(arrays_of, parts)), (arrays_of(answer),), self._site()))

    def made(self, variable: Any) -> None:
        if id(variable) not in self._numbers and HERE.get().draft is None:
            number = self._number(variable)
            self.events.append(Made(number, variable.name, _value(variable.all_copies[0]), self._site()))

    def written(self, variable: Any, verb: str, place: int | None, new: Sequence[Any]) -> None:
        copies = variable.all_copies if place is None else (variable.all_copies[place],)
        self._write(variable, verb, place, tuple(map(_value, copies)), tuple(np.array(one) for one in new))

    def adopted(self, storages: Sequence[Any]) -> None:
        known = {id(one.storage): one for one in LIVE.values() if one.container is None}
        for variable in (known[id(storage)] for storage in storages if id(storage) in known):
            self._write(variable, "", None, (), tuple(map(_value, variable.all_copies)))

    def _write(self, variable: Any, verb: str, place: int | None, before: Arrays, after: Arrays) -> None:
        own = variable.aggregation.name if variable.own_copies else ""
        number = self._number(variable)
        self.events.append(Written(number, variable.name, verb, place, before, after, own, self._site()))

    def _number(self, variable: Any) -> int:
        number = self._numbers.setdefault(id(variable), len(self.variables))
        if number == len(self.variables):
            self.variables.append(variable)
        return number

    def _site(self) -> Site:
        """Where the user's code is: that of the replicas, where a meeting does something for them, and no code of the user's."""
        site = call_site(2)
        if self._open and site == self._open[-1][2]:
            site = self._open[-1][1]
        site += HERE.get().called_from
        return site if any(map(_own, site)) else site + _around()


@contextlib.contextmanager
def journal(*, in_python: bool = True) -> Generator[RecordedJournal]:
    """Keep a journal of what replicas do together and of every variable that is made or written, for a block of code.

    Args:
        in_python: run the bodies of functions in Python, so that everything in them is told, with its line.

    >>> import refdist as tf
    >>> from refdist.testing import Written, journal
    >>> with journal() as events:
    ...     _ = tf.Variable(1.0, name="w").assign_add(2.0)
    >>> [(event.name, event.verb, float(event.after[0])) for event in events if isinstance(event, Written)]
    [('w:0', 'assign_add', 3.0)]
    """
    before, book = functions_run_eagerly(), RecordedJournal()
    if in_python and not before:
        run_functions_eagerly(True)
    try:
        with entered(journal=book):
            yield book
    finally:
        if in_python and not before:
            run_functions_eagerly(False)


def users_place(site: Site) -> Place | None:
    """The innermost place in the user's own code: not in a library that it calls, where there is another."""
    own = next(filter(_own, site), None)
    return own if own is not None else site[0] if site else None


def called(kind: str) -> str:
    """The kind of a meeting as a label.

    >>> called("all_reduce(SUM)"), called("assign_add")
    ('all_reduce SUM', 'assign_add')
    """
    return kind.removesuffix(")").replace("(", " ", 1) if kind.endswith(")") else kind


def _own(place: Place) -> bool:
    return "site-packages" not in place.file


def _around() -> Site:
    """The innermost line of the user's around code of a library, where code of this package stands between: a tape, for example."""
    frame: Any = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        place = Place(frame.f_code.co_filename, frame.f_code.co_name, frame.f_lineno, 0)
        if of_user(place.file) and _own(place) and "/simulator/" not in place.file:
            return (place,)
        frame = frame.f_back
    return ()


def arrays_of(value: Any) -> Arrays:
    """The arrays in a nest, copied; slices become one array, with a row for each index."""
    leaves = nest.flatten(value) if nest.is_container(value) else [value]
    found: list[np.ndarray[Any, Any]] = []
    for leaf in leaves:
        if isinstance(leaf, IndexedSlices):
            found.append(np.array(leaf.values))
        elif isinstance(leaf, (bool, int, float)) or (hasattr(leaf, "__array__") and hasattr(leaf, "dtype")):
            found.append(np.array(leaf))
    return tuple(found)


def _value(variable: Any) -> np.ndarray[Any, Any]:
    return np.array(variable.stored)
