"""What a worker has done with all others, in order: workers that did different things find it out, even if nobody had to wait."""

import zlib
from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

_LATEST = 32  # how many of the latest things are compared
_EVERY = 256  # of all others, one in so many is
_OLD = 16  # and only so many of these


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
        self._codes: dict[str, int] = {}

    def add(self, what: str) -> int:
        """Note one more; return its number."""
        number = self.count
        code = self._codes.get(what)
        if code is None:
            code = self._codes[what] = zlib.crc32(what.encode())
        self._chain = hash((self._chain, code))  # of numbers, so it is the same in every process
        entry = (number, self._chain, what)
        self._latest[number % _LATEST] = entry
        if number % _EVERY == 0:
            self._old.append(entry)
        self.count = number + 1
        return number

    def entries(self) -> list[Entry]:
        """What is compared with others."""
        found = {entry[0]: entry for entry in (*self._old, *self._latest) if entry is not None}
        return [Entry(*found[number]) for number in sorted(found)]


def first_difference(one: Iterable[Entry], other: Iterable[Any]) -> tuple[Entry, Entry] | None:
    """Where two ledgers differ first, as far as both go; None if they do not."""
    known = {entry.number: entry for entry in one}
    for number, chain, what in other:
        mine = known.get(number)
        if mine is not None and mine.chain != chain:
            return mine, Entry(number, chain, what)
    return None
