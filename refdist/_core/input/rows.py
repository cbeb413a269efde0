"""Datasets that are rows of arrays in some order: everything happens on their numbers, and rows are taken last.

An order is a stream of blocks; a block is a `range`, of which a slice costs nothing, or an array of row numbers. Both
are sliced and measured alike.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Block = range | np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True)
class Rows:
    """An order of rows, and how to take some of them: as slices of the arrays where the block is a range."""

    take: Callable[[Block], Any]
    blocks: Callable[[], Iterator[Block]]

    def with_blocks(self, blocks: Callable[[], Iterator[Block]]) -> "Rows":
        """The same rows in another order."""
        return dataclasses.replace(self, blocks=blocks)


def chunks(blocks: Iterator[Block], size: int, drop_remainder: bool = False) -> Iterator[Block]:
    """Cut a stream of blocks into pieces of one size, of which the last may be smaller.

    >>> list(chunks(iter([range(0, 3), range(3, 7)]), 2))
    [range(0, 2), array([2, 3]), range(4, 6), range(6, 7)]
    """
    rest: list[Block] = []
    missing = size
    for block in blocks:
        start = 0
        while len(block) - start >= missing:
            yield _joined([*rest, block[start : start + missing]])
            start += missing
            rest, missing = [], size
        if start < len(block):
            rest.append(block[start:])
            missing -= len(block) - start
    if rest and not drop_remainder:
        yield _joined(rest)


def sharded(blocks: Iterator[Block], count: int, index: int) -> Iterator[Block]:
    """Every count-th row, from the given one on.

    >>> list(sharded(iter([range(5), range(5, 9)]), 2, 1))
    [range(1, 5, 2), range(5, 9, 2)]
    """
    before = 0
    for block in blocks:
        part = block[(index - before) % count :: count]
        before += len(block)
        if len(part):
            yield part


def taken(blocks: Iterator[Block], count: int) -> Iterator[Block]:
    """The first rows; a count below 0 means all."""
    for block in blocks:
        if count == 0:
            return
        part = block if count < 0 else block[:count]
        count -= len(part) if count > 0 else 0
        yield part


def skipped(blocks: Iterator[Block], count: int) -> Iterator[Block]:
    """All but the first rows; a count below 0 means none at all."""
    if count < 0:
        return
    for block in blocks:
        if count >= len(block):
            count -= len(block)
            continue
        yield block[count:]
        count = 0


def repeated(blocks: Callable[[], Iterator[Block]], count: int) -> Iterator[Block]:
    """The rows again and again; a count below 0 means without end. Nothing, repeated, is nothing."""
    for _ in itertools.repeat(None, count) if count >= 0 else itertools.repeat(None):
        empty = True
        for block in blocks():
            empty = empty and not len(block)
            yield block
        if empty:
            return


def shuffled(blocks: Iterator[Block], buffer_size: int, generator: "np.random.Generator") -> Iterator[Block]:
    """The rows in random order: of a buffer that is filled in order, a random one is taken each time."""
    stream = chunks(blocks, buffer_size)
    order = _numbers(next(stream, range(0)))
    following = next(stream, None)
    if not len(order):
        return
    if following is None:  # everything fits into the buffer, so any order will do
        yield order[generator.permutation(len(order))]
        return
    held = order.tolist()
    for block in itertools.chain([following], stream):
        picks = generator.integers(len(held), size=len(block)).tolist()
        out: list[int] = []
        for pick, row in zip(picks, _numbers(block).tolist(), strict=True):
            out.append(held[pick])
            held[pick] = row
        yield np.array(out, dtype=np.int64)
    yield np.array(held, dtype=np.int64)[generator.permutation(len(held))]


def _joined(parts: list[Block]) -> Block:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate([_numbers(part) for part in parts])


def _numbers(block: Block) -> np.ndarray[Any, Any]:
    # A range is counted by numpy: as a sequence it would be taken over number by number, at ten times the cost.
    return np.arange(block.start, block.stop, block.step) if isinstance(block, range) else block
