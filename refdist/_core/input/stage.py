"""What every stage of a pipeline offers to the stage after it, and what the stages share during one pass."""

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
# How many rows are taken at once when elements are wanted one by one.
_BLOCK = 4096  # rows
_BLOCK_BYTES = 1 << 22


class ShuffleStage(Protocol):
    """What a pass needs to know of a shuffle."""

    seed: int
    seeded: bool
    reshuffle: bool

    def new_pass_number(self) -> int:
        """Number a new pass."""
        ...

    def note_pass_number(self, number: int) -> None:
        """Note that a pass has this number; it may have started in a program that has ended."""
        ...


@dataclasses.dataclass
class ShuffleSeed:
    """What determines the order of one shuffle in one pass."""

    seed: int
    pass_number: int
    repetition: int = 0  # how often the shuffle has started over in this pass, as under repeat()


class Iteration:
    """What the stages share during one pass over a pipeline: the seeds of shuffles, and how far the pass has come."""

    def __init__(self, peeking: bool = False) -> None:
        self.peeking = peeking  # whether this pass only looks at the first elements, and must not use up a pass number
        self.consumed = 0  # how many elements the anchor has delivered
        self.anchor: Stage | None = None  # the stage whose elements are counted
        self.inner_number: int | None = None  # for a dataset made during another pass: its number in that pass
        self._inner_count = 0
        self._seeds: dict[int, ShuffleSeed] = {}
        self._turns: dict[int, Iterator[int]] = {}
        self.unseeded: list[bool] = []  # filled when a shuffle has no seed that a position could record
        self.reshuffled: list[bool] = []  # filled when such a shuffle has a seed, but another order in every loop
        self.unrepeatable: list[
            bool
        ] = []  # filled when data come from a user's function that may not deliver them again

    def inner(self) -> "Iteration":
        """Begin a pass over a dataset that was made during this one."""
        made = Iteration(self.peeking)
        made.unseeded, made.reshuffled, made.unrepeatable = self.unseeded, self.reshuffled, self.unrepeatable
        # Numbered within this pass, not by the dataset itself, so that the same position yields the same order again.
        made.inner_number = self._inner_count
        self._inner_count += 1
        return made

    def count(self, stage: "Stage", elements: int) -> None:
        """Count the elements that a stage has delivered, if it is the anchor."""
        if stage is self.anchor:
            self.consumed += elements

    def turns(self, stage: "Stage", begin: int = 0) -> Iterator[int]:
        """Count how often a stage calls its function, over all times that it starts over, as under repeat()."""
        return self._turns.setdefault(id(stage), itertools.count(begin))

    def start_shuffle(self, shuffle: ShuffleStage, resumed: Sequence[int] | None) -> ShuffleSeed:
        """Choose the seed of a shuffle: that of the pass which is resumed, or a new one."""
        if resumed is not None:
            chosen = ShuffleSeed(*resumed)
            shuffle.note_pass_number(chosen.pass_number)
        elif not shuffle.reshuffle or self.peeking:
            chosen = ShuffleSeed(shuffle.seed, 0)
        else:
            number = shuffle.new_pass_number() if self.inner_number is None else self.inner_number
            chosen = ShuffleSeed(shuffle.seed, number)
        self._seeds[id(shuffle)] = chosen
        return chosen

    def seed_of(self, shuffle: ShuffleStage) -> list[int] | None:
        """The seed and pass number of a shuffle, if it has started in this pass."""
        found = self._seeds.get(id(shuffle))
        return None if found is None else [found.seed, found.pass_number]

    def generator(self, shuffle: ShuffleStage) -> "np.random.Generator":
        """Make the random numbers for the next time that a shuffle starts over."""
        chosen = self._seeds.get(id(shuffle))
        if chosen is None:
            chosen = self.start_shuffle(shuffle, None)
            if not shuffle.seeded:
                self.unseeded.append(True)
        numbers = np.random.default_rng([chosen.seed, chosen.pass_number, chosen.repetition])
        chosen.repetition += shuffle.reshuffle
        return numbers


# The pass for which a user's function is delivering data right now: no position records the loops inside that function.
DELIVERING: contextvars.ContextVar[Iteration | None] = contextvars.ContextVar("delivering", default=None)


class Stage:
    """One stage of a pipeline over nests of numpy arrays."""

    name = "Dataset"
    share = ""  # which part of the data this stage takes, if not all; a position holds for that part only
    one_to_one = False  # whether each element comes from one element of the input, in order
    same_elements = (
        False  # whether the elements are those of the input, unchanged: in another order, some of them, or more often
    )

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
        """Deliver the elements one by one, if they cannot be seen as rows."""
        return self.inputs[0].elements(iteration)

    def rows(self, iteration: Iteration) -> Rows | None:
        """The elements as rows of arrays, or None if they cannot be seen that way."""
        return None

    def cardinality(self) -> int:
        """Count the elements: -1 if they are infinite, -2 if unknown."""
        return self.inputs[0].cardinality()

    def is_empty(self) -> bool:
        """Say whether there is certainly no element, without calling the user's functions."""
        return bool(self.inputs) and all(one.is_empty() for one in self.inputs)

    def require_valid(self) -> None:
        """Raise what the first element would raise, for a pipeline that has no elements."""
        self.spec()

    def over(self, *inputs: "Stage") -> "Stage":
        """Return the same stage over other inputs."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy.inputs = inputs
        return copy

    def anchor(self) -> "Stage":
        """The stage whose elements are counted to save a position."""
        return self.inputs[0].anchor() if self.one_to_one else self

    def resumed(self, consumed: int) -> "Stage":
        """Return what is left after the anchor has delivered so many elements."""
        if self.one_to_one:
            return self.over(self.inputs[0].resumed(consumed))
        return Skip(self, consumed) if consumed else self

    def walk(self) -> Iterator["Stage"]:
        """Deliver this stage and all stages before it, the nearest first."""
        yield self
        for stage in self.inputs:
            yield from stage.walk()


class Skip(Stage):
    """Skips the first elements; a count below 0 skips all."""

    name = "SkipDataset"
    same_elements = True

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
    """Deliver the rows of a batch."""
    leaves, shape = optree.tree_flatten(batch, none_is_leaf=True)
    if len(leaves) == 1 and leaves[0] is batch:
        yield from (row_of(batch, index) for index in range(len(block)))
        return
    for index in range(len(block)):
        yield optree.tree_unflatten(shape, [row_of(leaf, index) for leaf in leaves])


def row_of(leaf: Any, index: int) -> Any:
    """Return one row of an array; byte strings stay objects, because numpy would give them a fixed length."""
    row = leaf[index]
    return np.array(row, dtype=object) if isinstance(row, bytes) else row
