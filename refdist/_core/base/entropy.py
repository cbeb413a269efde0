"""The sources of random numbers of a process, which one seed makes repeatable."""

import collections
import random
from collections.abc import Hashable
from typing import Any

import numpy as np

from refdist._core.base.philox import Stream, skipped, stream

ENTROPY = ((5,), np.dtype(np.uint32))  # the shape and dtype of what a compiled program gets for each run

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
    _sources[:] = [_Sources(None if seed is None else int(seed))]


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
    key, own = (_DEFAULT_SEED if sources.seed is None else sources.seed) % _LARGEST_SEED, own % _LARGEST_SEED
    if key == own == 0:
        own = _LARGEST_SEED
    used = sources.drawn[kernel, key, own]
    sources.drawn[kernel, key, own] += blocks
    return stream(key, used, own)


class ProgramEntropy:
    """What the runs of one compiled program draw from: with a seed set, each run continues where the last one has ended."""

    def __init__(self) -> None:
        self._runs, self._sources = 0, _sources[0]

    def __call__(self) -> np.ndarray[Any, Any]:
        """The words for one run: a key for all operations, one for those with a seed of their own, and how many runs there were."""
        sources = _sources[0]
        self._runs = self._runs + 1 if self._sources is sources else 1
        self._sources = sources
        shared = sources.for_operations.getrandbits(64) if sources.seed is None else sources.seed % _LARGEST_SEED
        seeded = _DEFAULT_SEED if sources.seed is None else sources.seed % _LARGEST_SEED
        return np.array([*stream(shared, 0)[:2], *stream(seeded, 0)[:2], self._runs - 1], ENTROPY[1])


def program_stream(entropy: Any, seed: int | None, turn: int, replica: Any, blocks: int) -> Stream:
    """Where an operation of a program that reserves so many blocks finds them, given the words of the run.

    Args:
        seed: of its own, with which all replicas draw the same numbers.
        turn: how many operations of the program have drawn before it.
    """
    if seed is None:
        place = np.uint32(1) if isinstance(replica, int) else (replica + 1).astype(np.uint32)
        first = (entropy[0], entropy[1], *stream(0, 0)[2:4], np.uint32(turn), place)
    else:
        first = (entropy[2], entropy[3], *stream(0, 0, seed % _LARGEST_SEED)[2:])
    return skipped(first, entropy[4], blocks)
