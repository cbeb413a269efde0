"""Datasets that are rows of arrays in some order: stages work on row numbers, and the rows themselves are taken last.

An order is a stream of blocks; a block is a `range` that counts up, which costs nothing to slice, or an array of row
numbers. Both support slices and len().
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Block = range | np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True)
class Rows:
    """An order of rows, and how to take some of them; a block that is a range is taken as a slice of the arrays."""

    take: Callable[[Block], Any]
    blocks: Callable[[], Iterator[Block]]

    def with_blocks(self, blocks: Callable[[], Iterator[Block]]) -> "Rows":
        """Return the same rows in another order."""
        return dataclasses.replace(self, blocks=blocks)


def chunks(blocks: Iterator[Block], size: int, drop_remainder: bool = False) -> Iterator[Block]:
    """Cut a stream of blocks into blocks of one size; the last may be smaller.

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
    """Keep every count-th row, starting at the given index.

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
    """Keep the first rows, and read no block after the last of them; a count below 0 keeps all."""
    while count and (block := next(blocks, None)) is not None:
        part = block if count < 0 else block[:count]
        count -= len(part) if count > 0 else 0
        yield part


def skipped(blocks: Iterator[Block], count: int) -> Iterator[Block]:
    """Skip the first rows; a count below 0 skips all."""
    if count < 0:
        return
    for block in blocks:
        if count >= len(block):
            count -= len(block)
            continue
        yield block[count:]
        count = 0


def repeated(blocks: Callable[[], Iterator[Block]], count: int) -> Iterator[Block]:
    """Repeat the rows; a count below 0 repeats them forever, unless there are none."""
    for _ in itertools.repeat(None, count) if count >= 0 else itertools.repeat(None):
        empty = True
        for block in blocks():
            empty = empty and not len(block)
            yield block
        if empty:
            return


def shuffled(blocks: Iterator[Block], buffer_size: int, generator: "np.random.Generator") -> Iterator[Block]:
    """Shuffle the rows: a buffer is filled in order, and rows are taken from it at random."""
    stream = chunks(blocks, buffer_size)
    order = _numbers(next(stream, range(0)))
    following = next(stream, None)
    if not len(order):
        return
    if following is None:  # everything fits into the buffer, so one permutation will do
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
    # arange() is ten times faster than converting the range number by number.
    return np.arange(block.start, block.stop, block.step) if isinstance(block, range) else block
