"""What every stage of a dataset offers to the stage after it, and what one iteration keeps."""

import contextvars
import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import optree

from refdist._core.input.rows import Block, Rows, skipped

INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2
# How much is taken at once when elements are wanted one by one.
_BLOCK = 4096  # rows
_BLOCK_BYTES = 1 << 22


class Mixing(Protocol):
    """What a shuffle stage tells an iteration."""

    seed: int
    seeded: bool
    reshuffle: bool

    def fresh(self) -> int:
        """The number of a new pass."""
        ...

    def known(self, number: int) -> None:
        """Note that there was a pass of this number, perhaps in a program that has ended."""
        ...


@dataclasses.dataclass
class Draws:
    """From which numbers one shuffle draws in one pass: its seed, the number of the pass, and the turn in it."""

    seed: int
    number: int
    turn: int = 0


class Iteration:
    """One pass over a dataset: what its shuffles draw from, and how far it has come."""

    def __init__(self, peeking: bool = False) -> None:
        self.peeking = peeking  # whether this pass only looks, and must leave the numbering of the shuffles alone
        self.consumed = 0  # elements that the anchor has delivered
        self.anchor: Stage | None = None  # the stage whose elements are counted
        self.number: int | None = None  # which dataset made during another pass this is a pass over
        self._inner = 0
        self._draws: dict[int, Draws] = {}
        self.unseeded: list[bool] = []  # filled when a shuffle draws numbers that no position can hold
        self.reshuffled: list[bool] = []  # filled when such a shuffle has a seed, but mixes anew for every loop
        self.live: list[bool] = []  # filled when a function of the user delivers data, which it may not do again

    def inner(self) -> "Iteration":
        """The pass over a dataset that was made during this one."""
        made = Iteration(self.peeking)
        made.unseeded, made.reshuffled, made.live = self.unseeded, self.reshuffled, self.live
        # Numbered within this pass, and not by the dataset itself, so that the same position finds the same order again.
        made.number = self._inner
        self._inner += 1
        return made

    def count(self, stage: "Stage", elements: int) -> None:
        """Note that a stage has delivered elements, if it is the one that counts."""
        if stage is self.anchor:
            self.consumed += elements

    def enter(self, shuffle: Mixing, known: Sequence[int] | None) -> Draws:
        """Start a shuffle: as a pass that is continued did, or anew."""
        if known is not None:
            draws = Draws(*known)
            shuffle.known(draws.number)
        elif not shuffle.reshuffle or self.peeking:
            draws = Draws(shuffle.seed, 0)
        else:
            draws = Draws(shuffle.seed, shuffle.fresh() if self.number is None else self.number)
        self._draws[id(shuffle)] = draws
        return draws

    def draws(self, shuffle: Mixing) -> list[int] | None:
        """What a shuffle draws from in this pass, if it does."""
        found = self._draws.get(id(shuffle))
        return None if found is None else [found.seed, found.number]

    def generator(self, shuffle: Mixing) -> "np.random.Generator":
        """The random numbers for the next time that a shuffle mixes its elements."""
        draws = self._draws.get(id(shuffle))
        if draws is None:
            draws = self.enter(shuffle, None)
            if not shuffle.seeded:
                self.unseeded.append(True)
        numbers = np.random.default_rng([draws.seed, draws.number, draws.turn])
        draws.turn += shuffle.reshuffle
        return numbers


# The pass in which a function of the user delivers data, while it does: loops of its own are none that a position knows.
DELIVERING: contextvars.ContextVar[Iteration | None] = contextvars.ContextVar("delivering", default=None)


class Stage:
    """One step of a pipeline over nests of numpy arrays."""

    name = "Dataset"
    share = ""  # which part of the data this stage takes, where it takes a part: a position holds for that part alone
    one_to_one = False  # whether each element comes from one element of the input, in order

    def __init__(self, *inputs: "Stage") -> None:
        self.inputs = inputs

    def spec(self) -> Any:
        """The spec of an element."""
        return self.inputs[0].spec()

    def elements(self, iteration: Iteration) -> Iterator[Any]:
        """Deliver the elements of one pass."""
        rows = self.rows(iteration)
        return _one_by_one(rows) if rows is not None else self.each(iteration)

    def each(self, iteration: Iteration) -> Iterator[Any]:
        """Deliver the elements one by one, where they cannot be seen as rows."""
        return self.inputs[0].elements(iteration)

    def rows(self, iteration: Iteration) -> Rows | None:
        """The elements as rows of arrays, where they can be seen so."""
        return None

    def cardinality(self) -> int:
        """How many elements there are; -1 without end, -2 unknown."""
        return self.inputs[0].cardinality()

    def is_empty(self) -> bool:
        """Say whether there is certainly no element: known without a call of the user's functions."""
        return bool(self.inputs) and all(one.is_empty() for one in self.inputs)

    def require_sense(self) -> None:
        """Raise what the first element would raise, where there will be none."""
        self.spec()

    def over(self, *inputs: "Stage") -> "Stage":
        """The same step over other inputs."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy.inputs = inputs
        return copy

    def anchor(self) -> "Stage":
        """The stage that is counted to save a position."""
        return self.inputs[0].anchor() if self.one_to_one else self

    def resumed(self, consumed: int) -> "Stage":
        """The rest of the elements, after so many of the anchor's."""
        if self.one_to_one:
            return self.over(self.inputs[0].resumed(consumed))
        return Skip(self, consumed) if consumed else self

    def walk(self) -> Iterator["Stage"]:
        """This stage and all before it, the nearest first."""
        yield self
        for stage in self.inputs:
            yield from stage.walk()


class Skip(Stage):
    """Leaves out the first elements; a count below 0 leaves out all."""

    name = "SkipDataset"

    def __init__(self, stage: Stage, count: int) -> None:
        super().__init__(stage)
        self.skip_count = count

    def rows(self, iteration: Iteration) -> Rows | None:
        rows = self.inputs[0].rows(iteration)
        return rows and rows.with_blocks(lambda: skipped(rows.blocks(), self.skip_count))

    def each(self, iteration: Iteration) -> Iterator[Any]:
        return (
            itertools.islice(self.inputs[0].elements(iteration), self.skip_count, None)
            if self.skip_count >= 0
            else iter(())
        )

    def is_empty(self) -> bool:
        return self.skip_count < 0 or super().is_empty()

    def cardinality(self) -> int:
        total = self.inputs[0].cardinality()
        if self.skip_count < 0 and total != UNKNOWN_CARDINALITY:
            return 0
        return max(0, total - self.skip_count) if total >= 0 else total


def _one_by_one(rows: Rows) -> Iterator[Any]:
    count = 16
    for block in rows.blocks():
        start = 0
        while start < len(block):
            batch = rows.take(block[start : start + count])
            size = min(count, len(block) - start)
            yield from split(batch, range(size))
            start += size
            row = sum(leaf.nbytes for leaf in optree.tree_leaves(batch, none_is_leaf=True)) // size
            count = max(1, min(_BLOCK, _BLOCK_BYTES // max(1, row)))


def split(batch: Any, block: Block) -> Iterator[Any]:
    """The rows of a batch."""
    leaves, shape = optree.tree_flatten(batch, none_is_leaf=True)
    if len(leaves) == 1 and leaves[0] is batch:
        yield from (row_of(batch, index) for index in range(len(block)))
        return
    for index in range(len(block)):
        yield optree.tree_unflatten(shape, [row_of(leaf, index) for leaf in leaves])


def row_of(leaf: Any, index: int) -> Any:
    """One row of an array; text stays as it is, where numpy would give it a length."""
    row = leaf[index]
    return np.array(row, dtype=object) if isinstance(row, bytes) else row
