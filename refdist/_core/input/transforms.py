"""The stages that select elements, repeat them, or change their order."""

import importlib
import itertools
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from refdist._core.base import nest
from refdist._core.input import rows as order
from refdist._core.input.dataset_options import SHARD_HINT, Options
from refdist._core.input.rows import Rows
from refdist._core.input.stage import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Iteration, Stage
from refdist._core.replicas.specs import TensorSpec, common


class Repeat(Stage):
    """Starts over at the end."""

    name = "RepeatDataset"
    same_elements = True

    def __init__(self, stage: Stage, count: int) -> None:
        super().__init__(stage)
        self.count = count

    def rows(self, iteration: Iteration) -> Rows | None:
        rows = self.inputs[0].rows(iteration)
        return rows and rows.with_blocks(lambda: order.repeated(rows.blocks, self.count))

    def each(self, iteration: Iteration) -> Iterator[Any]:
        for _ in itertools.count() if self.count < 0 else range(self.count):
            empty = True
            for element in self.inputs[0].elements(iteration):
                empty = False
                yield element
            if empty:
                return

    def is_empty(self) -> bool:
        return self.count == 0 or super().is_empty()

    def cardinality(self) -> int:
        total = self.inputs[0].cardinality()
        if total == 0 or self.count == 0:
            return 0
        if self.count < 0 or total == INFINITE_CARDINALITY:
            return INFINITE_CARDINALITY
        return total * self.count if total > 0 else total


class Shuffle(Stage):
    """Shuffles elements within a buffer, from a seed."""

    name = "ShuffleDataset"
    same_elements = True

    def __init__(self, stage: Stage, buffer_size: int, seed: int | None, reshuffle: bool) -> None:
        super().__init__(stage)
        self._buffer_size, self.reshuffle = buffer_size, reshuffle
        self.seeded = seed is not None
        self.seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else int(seed) % 2**63
        self._passes = 0

    def new_pass_number(self) -> int:
        """Number a new pass."""
        self._passes += 1
        return self._passes - 1

    def note_pass_number(self, number: int) -> None:
        """Note that a pass has this number, so that new passes get later ones."""
        self._passes = max(self._passes, number + 1)

    def reseeded(self, seed: int) -> "Shuffle":
        """Return the same shuffle with another seed, before its first pass."""
        copy = self.over(*self.inputs)
        assert isinstance(copy, Shuffle)
        copy.seed, copy._passes = seed, 0
        return copy

    def rows(self, iteration: Iteration) -> Rows | None:
        rows = self.inputs[0].rows(iteration)
        return rows and rows.with_blocks(
            lambda: order.shuffled(rows.blocks(), self._buffer_size, iteration.generator(self))
        )

    def each(self, iteration: Iteration) -> Iterator[Any]:
        elements, generator = self.inputs[0].elements(iteration), iteration.generator(self)
        held = list(itertools.islice(elements, self._buffer_size))
        for element in elements:
            pick = int(generator.integers(len(held)))
            yield held[pick]
            held[pick] = element
        for index in generator.permutation(len(held)):
            yield held[index]


class Shard(Stage):
    """Keeps every count-th element."""

    name = "ShardDataset"
    same_elements = True

    def __init__(self, stage: Stage, count: int, index: int) -> None:
        super().__init__(stage)
        self.shards, self.index, self.share = count, index, f"shard {index} of {count}"

    def rows(self, iteration: Iteration) -> Rows | None:
        if self.shards == SHARD_HINT:
            raise ValueError(
                "A shard stage with SHARD_HINT was iterated over; expected a distributed dataset with the policy HINT, which "
                "replaces it. Set auto_shard_policy to HINT, or give the number of shards."
            )
        rows = self.inputs[0].rows(iteration)
        return rows and rows.with_blocks(lambda: order.sharded(rows.blocks(), self.shards, self.index))

    def each(self, iteration: Iteration) -> Iterator[Any]:
        return itertools.islice(self.inputs[0].elements(iteration), self.index, None, self.shards)

    def cardinality(self) -> int:
        total = self.inputs[0].cardinality()
        return len(range(self.index, total, self.shards)) if total >= 0 else total


class DividedBatches(Stage):
    """Marks that all workers read the same batches, and each takes its part of every batch; the elements are unchanged."""

    name = "ShardDataset"
    one_to_one = True

    def each(self, iteration: Iteration) -> Iterator[Any]:
        for element in self.inputs[0].elements(iteration):
            if iteration.unseeded:
                raise ValueError(
                    "The batches are divided among workers, and the pipeline shuffles without a seed inside flat_map(), "
                    "interleave() or from_generator(); expected a seed there, because each worker would mix in another order, and "
                    "elements be lost or come twice. Pass seed= to the inner shuffle()."
                )
            yield element


class CutEqually(Stage):
    """Marks that pieces of a partial batch that all workers read are to be of one size; the elements are unchanged.

    A last batch of 6 out of 8 becomes 3 and 3, as in TensorFlow, where the pages of the API have 4 and 2.
    """

    name = "RebatchDataset"
    one_to_one = True

    def each(self, iteration: Iteration) -> Iterator[Any]:
        return self.inputs[0].elements(iteration)


class Take(Stage):
    """Keeps the first elements; a count below 0 keeps all."""

    name = "TakeDataset"
    same_elements = True

    def __init__(self, stage: Stage, count: int) -> None:
        super().__init__(stage)
        self._count = count

    def rows(self, iteration: Iteration) -> Rows | None:
        rows = self.inputs[0].rows(iteration)
        return rows and rows.with_blocks(lambda: order.taken(rows.blocks(), self._count))

    def each(self, iteration: Iteration) -> Iterator[Any]:
        return itertools.islice(self.inputs[0].elements(iteration), self._count if self._count >= 0 else None)

    def is_empty(self) -> bool:
        return self._count == 0 or super().is_empty()

    def cardinality(self) -> int:
        total = self.inputs[0].cardinality()
        if self._count < 0 or total == UNKNOWN_CARDINALITY:
            return total
        return self._count if total < 0 else min(total, self._count)


class Zip(Stage):
    """Puts the elements of several datasets side by side, until one of them ends."""

    name = "ZipDataset"

    def __init__(self, shape: Any, inputs: Sequence[Stage]) -> None:
        super().__init__(*inputs)
        self._shape = shape

    def spec(self) -> Any:
        return nest.pack_sequence_as(self._shape, [stage.spec() for stage in self.inputs])

    def each(self, iteration: Iteration) -> Iterator[Any]:
        for parts in zip(*(stage.elements(iteration) for stage in self.inputs), strict=False):
            yield nest.pack_sequence_as(self._shape, parts)

    def is_empty(self) -> bool:
        return any(stage.is_empty() for stage in self.inputs)

    def cardinality(self) -> int:
        totals = [stage.cardinality() for stage in self.inputs]
        if UNKNOWN_CARDINALITY in totals:
            return UNKNOWN_CARDINALITY
        finite = [total for total in totals if total >= 0]
        return min(finite) if finite else INFINITE_CARDINALITY


class Concatenate(Stage):
    """One dataset after the other."""

    name = "ConcatenateDataset"

    def spec(self) -> Any:
        try:
            return common(self.inputs[0].spec(), self.inputs[1].spec())
        except ValueError as error:
            raise TypeError(f"concatenate() got a dataset of other elements. {error}") from error

    def each(self, iteration: Iteration) -> Iterator[Any]:
        return itertools.chain.from_iterable(stage.elements(iteration) for stage in self.inputs)

    def cardinality(self) -> int:
        totals = [stage.cardinality() for stage in self.inputs]
        if INFINITE_CARDINALITY in totals:
            return INFINITE_CARDINALITY
        return UNKNOWN_CARDINALITY if UNKNOWN_CARDINALITY in totals else sum(totals)


class Enumerate(Stage):
    """Numbers the elements."""

    name = "ZipDataset"  # what TensorFlow prints: a range zipped with the elements

    def __init__(self, stage: Stage, start: int) -> None:
        super().__init__(stage)
        self._start = start

    def spec(self) -> Any:
        return (TensorSpec((), np.int64), self.inputs[0].spec())

    def each(self, iteration: Iteration) -> Iterator[Any]:
        for number, element in enumerate(self.inputs[0].elements(iteration), self._start):
            yield np.int64(number), element


class Prefetch(Stage):
    """Tells how many elements may be made before they are wanted; the elements are unchanged."""

    name = "PrefetchDataset"
    same_elements = True
    one_to_one = True

    def __init__(self, stage: Stage, buffer_size: int) -> None:
        super().__init__(stage)
        self.buffer_size = buffer_size

    def rows(self, iteration: Iteration) -> Rows | None:
        return self.inputs[0].rows(iteration)


class Cache(Stage):
    """Keeps the elements of the first complete pass, and the seeds of its shuffles; or the elements in a file."""

    name = "CacheDataset"
    same_elements = True

    def __init__(self, stage: Stage, file: str = "") -> None:
        super().__init__(stage)
        self._kept: tuple[list[Any], list[list[int] | None]] | None = None  # both, or neither
        self._file = file

    def over(self, *inputs: Stage) -> Stage:
        return Cache(*inputs, file=self._file)  # what was kept does not hold for other inputs

    @property
    def shuffle_seeds(self) -> list[list[int] | None]:
        """The seeds of the shuffles before this stage, in the pass whose elements were kept."""
        return [] if self._kept is None else self._kept[1]

    def each(self, iteration: Iteration) -> Iterator[Any]:
        if self._file:
            yield from self._from_file(iteration)
            return
        if self._kept is not None:
            yield from self._kept[0]
            return
        seen: list[Any] = []
        for element in self.inputs[0].elements(iteration):
            seen.append(element)
            yield element
        if self._kept is None and not iteration.peeking:
            self._kept = seen, [iteration.seed_of(one) for one in self.walk() if isinstance(one, Shuffle)]

    def _from_file(self, iteration: Iteration) -> Iterator[Any]:
        files: Any = importlib.import_module("refdist._core.input.element_files")
        path, share = f"{self._file}.elements", ", ".join(one.share for one in self.walk() if one.share)
        if os.path.exists(path):
            return files.SavedElements(path, share=share).each(iteration)
        elements = self.inputs[0].elements(iteration)
        return elements if iteration.peeking else files.write(path, elements, self.spec(), share=share)


class WithOptions(Stage):
    """Carries options along."""

    name = "OptionsDataset"
    same_elements = True
    one_to_one = True

    def __init__(self, stage: Stage, options: Options) -> None:
        super().__init__(stage)
        self.options = options

    def rows(self, iteration: Iteration) -> Rows | None:
        return self.inputs[0].rows(iteration)
