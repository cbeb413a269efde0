"""What a worker has done with all others, in order: workers that did different things find it out, even if nobody had to wait."""

import zlib
from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_LATEST = 32  # how many of the latest things are compared
_EVERY = 256  # of all others, one in so many is
_OLD = 16  # and only so many of these
ASSIGNMENT = "an assignment outside of replicas"


class Entry(NamedTuple):
    """One thing that a worker did."""

    number: int
    chain: int  # made from everything up to it
    what: str


class Ledger:
    """A chain that is the same in all workers as long as they do the same things; steps are cheap, so it is kept in all of them."""

    def __init__(self) -> None:
        self.count, self._chain = 0, 0
        # Plain tuples, because every step of a loop makes one.
        self._latest: list[tuple[int, int, str] | None] = [None] * _LATEST
        self._old: deque[tuple[int, int, str]] = deque(maxlen=_OLD)
        self._rare: deque[tuple[int, int, str]] = deque(maxlen=_OLD)  # with an identity of their own
        self._codes: dict[str, int] = {}

    def add(self, what: str, identity: str | None = None) -> int:
        """Note one more; return its number.

        Args:
            what: is shown, and has to be the same in all workers unless there is an identity.
            identity: is compared in its place; few of them come again.
        """
        number = self.count
        code = self._codes.get(what) if identity is None else zlib.crc32(identity.encode())
        if code is None:
            code = self._codes[what] = zlib.crc32(what.encode())
        self._chain = hash((self._chain, code))  # of numbers, so it is the same in every process
        entry = (number, self._chain, what)
        self._latest[number % _LATEST] = entry
        if identity is not None:
            self._rare.append(entry)
        elif number % _EVERY == 0:
            self._old.append(entry)
        self.count = number + 1
        return number

    def entries(self) -> list[Entry]:
        """What is compared with others."""
        found = {entry[0]: entry for entry in (*self._rare, *self._old, *self._latest) if entry is not None}
        return [Entry(*found[number]) for number in sorted(found)]


def first_difference(one: Iterable[Entry], other: Iterable[Entry]) -> tuple[Entry, Entry] | None:
    """Where two ledgers differ first, as far as both go; None if they do not."""
    known = {entry.number: entry for entry in one}
    for theirs in other:
        mine = known.get(theirs.number)
        if mine is not None and mine.chain != theirs.chain:
            return mine, theirs
    return None


def is_assignment(entry: Entry) -> bool:
    """Whether a worker wrote outside of replicas."""
    return entry.what.startswith(ASSIGNMENT)


def assignments_of_one(one: Sequence[Entry], other: Sequence[Entry]) -> list[str]:
    """What one worker has written outside of replicas and another one has not, as far as both ledgers go."""
    known = {entry[:2] for entry in other}
    end = other[-1].number if other else -1  # the other worker may not have come to what follows
    return [entry.what for entry in one if is_assignment(entry) and entry.number <= end and entry[:2] not in known]
