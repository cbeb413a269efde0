"""The sources of random numbers of a process, which one seed makes repeatable."""

import collections
import contextlib
import copy
import random
from collections.abc import Generator, Hashable, Sequence
from typing import Any

import numpy as np

from refdist._core.base.philox import Stream, skipped, stream

_SHARES = 12  # how many passages of the code of replicas are told how many operations draw in them
ENTROPY = ((3 + _SHARES,), np.dtype(np.uint32))  # the shape and dtype of what a compiled program gets for each run
RUNS = 2  # the place in it of how many runs there were

_DEFAULT_SEED = 87654321  # of all operations that have a seed of their own, while no seed is set
_LARGEST_SEED = 2**31 - 1


class _Sources:
    """Where numbers come from after a seed was set, or after none was."""

    def __init__(self, seed: int | None) -> None:
        self.seed = seed
        self.for_operations = random.Random(seed)
        self.drawn = collections.Counter[Hashable]()  # blocks that operations with seeds of their own have used
        self._generators: list[np.random.Generator] = []  # made on demand: numpy.random takes 10 ms to load

    def generator(self) -> "np.random.Generator":
        if not self._generators:
            self._generators.append(np.random.default_rng(self.seed))
        return self._generators[0]


_sources = [_Sources(None)]


def set_seed(seed: int | None) -> None:
    """Make all further numbers the same in every process that sets the same seed."""
    try:
        number = None if seed is None else int(seed)
    except (TypeError, ValueError) as error:
        raise TypeError(f"set_seed() got {seed!r}; expected an integer, or None. Pass one, such as 7.") from error
    _sources[:] = [_Sources(number)]


@contextlib.contextmanager
def seeded(seed: int) -> Generator[None]:
    """Set a seed for a block of code, and go on afterwards as if nothing had been drawn in it."""
    before = _sources[0]
    set_seed(seed)
    try:
        yield
    finally:
        _sources[:] = [before]


@contextlib.contextmanager
def undone() -> Generator[None]:
    """Let a block of code draw what it would draw now, and go on afterwards as if it had drawn nothing."""
    before = _sources[0]
    _sources[:] = [copy.deepcopy(before)]
    try:
        yield
    finally:
        _sources[:] = [before]


def drawn() -> Hashable:
    """What is equal after two pieces of code that have drawn equally often since the same seed was set."""
    return _sources[0].for_operations.getstate(), sum(_sources[0].drawn.values())


def generator() -> "np.random.Generator":
    """The generator of this process, for what has no documented numbers."""
    return _sources[0].generator()


def operation_stream(seed: int | None, kernel: Hashable, blocks: int) -> Stream:
    """Where an operation that reserves so many blocks of four words finds them.

    Operations of one kernel (a name, a dtype, a device) with one seed follow each other; those without have a new stream each time.
    """
    sources = _sources[0]
    if seed is None and sources.seed is None:
        return stream(sources.for_operations.getrandbits(64), 0, sources.for_operations.getrandbits(64))
    own = sources.for_operations.randint(0, _LARGEST_SEED) if seed is None else seed
    key, own = _pair(sources.seed, own)
    used = sources.drawn[kernel, key, own]
    sources.drawn[kernel, key, own] += blocks
    return stream(key, used, own)


class FunctionDraws:
    """The operations of one function that draw, numbered as TensorFlow numbers those of its graph.

    An operation without a seed has its number as a seed, beside the seed that was set when the function was traced. Each operation
    has a stream of its own, which goes on from run to run.
    """

    def __init__(self) -> None:
        self._seed, self._outside, self._passages = _sources[0].seed, 0, dict[Hashable, _Passage]()

    def decides(self, seed: int | None) -> bool:
        """Say whether seeds decide what an operation with this one draws."""
        return seed is not None or self._seed is not None

    def stream(self, seed: int | None, runs: Any, blocks: int) -> Stream:
        """Where an operation that reserves so many blocks finds them, after so many runs."""
        own = self._number() if seed is None else seed
        self._outside += seed is None
        key, own = _pair(self._seed, own)
        return skipped(stream(key, 0, own), runs, blocks)

    def stream_in_replica(
        self,
        where: Hashable,
        path: Hashable,
        shares: "list[_Passage]",
        entropy: Any,
        replica: Any,
        count: int,
        blocks: int,
    ) -> Stream | None:
        """The same on a replica: the replicas take turns, up to where they meet, so each has the numbers behind those of the last.

        How many operations there are in a passage of the code, between two meetings, is known at its end; a run gets it in a place
        of its entropy. None where there is no such place.

        Args:
            where: which passage it is.
            path: what differs each time that the passage is traced.
            shares: all passages of the program so far, in the order of their places.
        """
        passage = self._passages.get(where)
        if passage is None:
            if len(shares) == _SHARES:
                return None
            passage = self._passages[where] = _Passage(self._number(), count, len(shares))
            shares.append(passage)
        number = (
            np.uint32(passage.begin + passage.next(path))
            + replica.astype(np.uint32) * entropy[RUNS + 1 + passage.place]
        )
        key = _pair(self._seed, 1)[0]
        first = (*stream(key, 0)[:2], np.uint32(0), np.uint32(0), number, np.uint32(0))
        return skipped(first, entropy[RUNS], blocks)

    def _number(self) -> int:
        return self._outside + sum(one.size * one.replicas for one in self._passages.values())


class ElementDraws(FunctionDraws):
    """The operations of a function that a dataset calls, for one element."""

    def __init__(self, turn: int) -> None:
        super().__init__()
        self._turn = np.uint32(turn)

    def draw(self, seed: int | None, blocks: int) -> Stream | None:
        """Where an operation finds its numbers; None if no seed decides that."""
        return self.stream(seed, self._turn, blocks) if self.decides(seed) else None


class _Passage:
    """A part of the code of replicas in which they do not meet."""

    def __init__(self, begin: int, replicas: int, place: int) -> None:
        self.begin, self.replicas, self.place = begin, replicas, place
        self.drawn = collections.Counter[Hashable]()

    def next(self, path: Hashable) -> int:
        self.drawn[path] += 1
        return self.drawn[path] - 1

    @property
    def size(self) -> int:
        return max(self.drawn.values(), default=0)


class ProgramEntropy:
    """What the runs of one compiled program draw from: with a seed set, each run continues where the last one has ended."""

    def __init__(self, shares: Sequence[int] = ()) -> None:
        self._runs, self._sources = 0, _sources[0]
        self._shares = [*shares, *[0] * (_SHARES - len(shares))]

    def __call__(self) -> np.ndarray[Any, Any]:
        """The words for one run: a key for operations that no seed decides, how many runs there were, the sizes of passages."""
        sources = _sources[0]
        self._runs = self._runs + 1 if self._sources is sources else 1
        self._sources = sources
        key = sources.for_operations.getrandbits(64) if sources.seed is None else sources.seed % _LARGEST_SEED
        return np.array([*stream(key, 0)[:2], self._runs - 1, *self._shares], ENTROPY[1])


def program_stream(entropy: Any, turn: int, replica: Any, blocks: int) -> Stream:
    """Where an operation of a program that reserves so many blocks finds them, given the words of the run.

    Args:
        turn: how many operations of the program have drawn before it.
    """
    place = np.uint32(1) if isinstance(replica, int) else (replica + 1).astype(np.uint32)
    first = (entropy[0], entropy[1], *stream(0, 0)[2:4], np.uint32(turn), place)
    return skipped(first, entropy[RUNS], blocks)


def _pair(seed: int | None, own: int) -> tuple[int, int]:
    """The two seeds of an operation: that of the process, and its own; both zero would stand for none."""
    key, own = (_DEFAULT_SEED if seed is None else seed) % _LARGEST_SEED, own % _LARGEST_SEED
    return key, _LARGEST_SEED if key == own == 0 else own
