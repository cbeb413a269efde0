"""The stages that change elements or their order."""

import collections
import contextvars
import importlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from refdist import nest
from refdist.data import rows as order
from refdist.data.options import SHARD_HINT, Options
from refdist.data.rows import Rows
from refdist.data.sources import element_of
from refdist.data.stage import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Iteration, Stage
from refdist.device import Device
from refdist.spec import TensorSpec, common, spec_of
from refdist.tensor import Tensor, make

_HOST = Device("CPU:0")
_END: Any = object()


def called(method: str, function: Callable[..., Any], index: int, element: Any) -> Any:
    """What a user's function says of an element; an error in it says which element that was."""
    try:
        return call(function, element)
    except Exception as error:
        error.add_note(f"raised in {method}() at element {index} of this pass")
        raise


def call(function: Callable[..., Any], element: Any) -> Any:
    """Call a user's function with an element, a tuple as several arguments; its tensors cannot be changed."""
    shown = nest.map_structure(lambda array: make(np.asarray(array), _HOST), element)
    return function(*shown) if isinstance(shown, tuple) and not hasattr(shown, "_fields") else function(shown)


def plain(result: Any) -> Any:
    """What a user's function returned, as a nest of arrays; a list of tensors is a tuple, as in TensorFlow."""
    if isinstance(result, list) and any(hasattr(part, "shape") for part in result):
        result = tuple(result)
    return element_of(nest.map_structure(lambda leaf: np.asarray(leaf) if isinstance(leaf, Tensor) else leaf, result))


class Map(Stage):
    """Calls a function on each element; several at a time where asked for, in order all the same."""

    name = "MapDataset"
    one_to_one = True

    def __init__(self, stage: Stage, function: Callable[..., Any], parallel: int) -> None:
        super().__init__(stage)
        self._function, self._parallel, self._spec = function, parallel, None
        # With several calls at a time, elements are taken from the input before they are delivered, so its count is not ours.
        self.one_to_one = parallel <= 1

    def spec(self) -> Any:
        if self._spec is None:
            self._spec = self._tried()
        return self._spec

    def each(self, iteration: Iteration) -> Iterator[Any]:
        elements = self.inputs[0].elements(iteration)
        if self._parallel > 1:
            yield from self._ahead(elements)
        else:
            for index, element in enumerate(elements):
                yield self._mapped(index, element)

    def _mapped(self, index: int, element: Any) -> Any:
        return plain(called("map", self._function, index, element))

    def _ahead(self, elements: Iterator[Any]) -> Iterator[Any]:
        futures = importlib.import_module("concurrent.futures")  # costs 10 ms, and is rarely needed
        with futures.ThreadPoolExecutor(self._parallel) as pool:
            waiting = collections.deque[Any]()
            failure: Exception | None = None
            for index in itertools.count():
                element = _END
                try:
                    element = next(elements, _END)
                except Exception as error:
                    failure = error  # it comes after the elements that were read before it
                if element is _END:
                    break
                # In the context of the caller, so that the function sees the same strategy and backend.
                waiting.append(pool.submit(contextvars.copy_context().run, self._mapped, index, element))
                if len(waiting) >= self._parallel:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
            if failure is not None:
                raise failure

    def _tried(self) -> Any:
        """The spec of a result: tried on zeros twice, so that sizes that follow an unknown one show."""
        specs: list[Any] = []
        for size in (1, 2):
            zeros = nest.map_structure(lambda leaf: _zeros(leaf, size), self.inputs[0].spec())  # noqa: B023
            specs.append(spec_of(plain(call(self._function, zeros))))
        return common(specs[0], specs[1])


class Filter(Stage):
    """Keeps the elements for which a function says so."""

    name = "FilterDataset"

    def __init__(self, stage: Stage, predicate: Callable[..., Any]) -> None:
        super().__init__(stage)
        self._predicate = predicate

    def each(self, iteration: Iteration) -> Iterator[Any]:
        for index, element in enumerate(self.inputs[0].elements(iteration)):
            if bool(called("filter", self._predicate, index, element)):
                yield element

    def cardinality(self) -> int:
        return UNKNOWN_CARDINALITY  # of data without end too: there may be few that are wanted


class Interleave(Stage):
    """Makes a dataset of each element, and takes some elements of each in turn."""

    name, method = "InterleaveDataset", "interleave"

    def __init__(self, stage: Stage, function: Callable[..., Any], cycle: int = 1, block: int = 1) -> None:
        super().__init__(stage)
        self._function, self._cycle, self._block = function, cycle, block

    def spec(self) -> Any:
        for element in self.inputs[0].elements(Iteration(peeking=True)):
            return self._stage(0, element).spec()
        return self._stage(0, nest.map_structure(lambda leaf: _zeros(leaf, 0), self.inputs[0].spec())).spec()

    def each(self, iteration: Iteration) -> Iterator[Any]:
        elements = enumerate(self.inputs[0].elements(iteration))
        coming = (self._stage(*numbered).elements(iteration.inner()) for numbered in elements)
        # A slot that has run out is filled again when its turn comes.
        slots: list[Iterator[Any] | None] = [None] * self._cycle
        turn, empty, exhausted = 0, 0, False
        while empty < self._cycle:
            if slots[turn] is None and not exhausted:
                slots[turn] = next(coming, None)
                exhausted = slots[turn] is None
            slot, taken = slots[turn], 0
            for element in itertools.islice(slot, self._block) if slot is not None else ():
                taken += 1
                yield element
            empty = empty + 1 if slot is None else 0
            if taken < self._block:
                slots[turn] = None
            turn = (turn + 1) % self._cycle

    def cardinality(self) -> int:
        return UNKNOWN_CARDINALITY

    def _stage(self, index: int, element: Any) -> Stage:
        made = called(self.method, self._function, index, element)
        if not hasattr(made, "stage"):
            raise TypeError(
                f"The function given to {self.method}() returned a {type(made).__name__} for element {index}; expected a Dataset. "
                f"Wrap the result, for example with tf.data.Dataset.from_tensors()."
            )
        return made.stage


class FlatMap(Interleave):
    """Makes a dataset of each element, and delivers them one after the other."""

    name, method = "FlatMapDataset", "flat_map"


class Repeat(Stage):
    """Starts again at the end."""

    name = "RepeatDataset"

    def __init__(self, stage: Stage, count: int) -> None:
        super().__init__(stage)
        self._count = count

    def rows(self, iteration: Iteration) -> Rows | None:
        rows = self.inputs[0].rows(iteration)
        return rows and rows.with_blocks(lambda: order.repeated(rows.blocks, self._count))

    def each(self, iteration: Iteration) -> Iterator[Any]:
        for _ in itertools.count() if self._count < 0 else range(self._count):
            empty = True
            for element in self.inputs[0].elements(iteration):
                empty = False
                yield element
            if empty:
                return

    def cardinality(self) -> int:
        total = self.inputs[0].cardinality()
        if total == 0 or self._count == 0:
            return 0
        if self._count < 0 or total == INFINITE_CARDINALITY:
            return INFINITE_CARDINALITY
        return total * self._count if total > 0 else total


class Shuffle(Stage):
    """Mixes elements within a buffer, by a seed."""

    name = "ShuffleDataset"

    def __init__(self, stage: Stage, buffer_size: int, seed: int | None, reshuffle: bool) -> None:
        super().__init__(stage)
        self._buffer_size, self.reshuffle = buffer_size, reshuffle
        self.seeded = seed is not None
        self.seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else int(seed) % 2**63
        self.passes = itertools.count()

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


class Take(Stage):
    """Keeps the first elements; a count below 0 keeps all."""

    name = "TakeDataset"

    def __init__(self, stage: Stage, count: int) -> None:
        super().__init__(stage)
        self._count = count

    def rows(self, iteration: Iteration) -> Rows | None:
        rows = self.inputs[0].rows(iteration)
        return rows and rows.with_blocks(lambda: order.taken(rows.blocks(), self._count))

    def each(self, iteration: Iteration) -> Iterator[Any]:
        return itertools.islice(self.inputs[0].elements(iteration), self._count if self._count >= 0 else None)

    def cardinality(self) -> int:
        total = self.inputs[0].cardinality()
        if self._count < 0:
            return total
        if total == UNKNOWN_CARDINALITY and self._count:
            return UNKNOWN_CARDINALITY
        return self._count if total < 0 else min(total, self._count)


class Zip(Stage):
    """Puts the elements of several datasets side by side, as long as all have some."""

    name = "ZipDataset"

    def __init__(self, shape: Any, inputs: Sequence[Stage]) -> None:
        super().__init__(*inputs)
        self._shape = shape

    def spec(self) -> Any:
        return nest.pack_sequence_as(self._shape, [stage.spec() for stage in self.inputs])

    def each(self, iteration: Iteration) -> Iterator[Any]:
        for parts in zip(*(stage.elements(iteration) for stage in self.inputs), strict=False):
            yield nest.pack_sequence_as(self._shape, parts)

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
        return common(self.inputs[0].spec(), self.inputs[1].spec())

    def each(self, iteration: Iteration) -> Iterator[Any]:
        return itertools.chain.from_iterable(stage.elements(iteration) for stage in self.inputs)

    def cardinality(self) -> int:
        totals = [stage.cardinality() for stage in self.inputs]
        if INFINITE_CARDINALITY in totals:
            return INFINITE_CARDINALITY
        return UNKNOWN_CARDINALITY if UNKNOWN_CARDINALITY in totals else sum(totals)


class Enumerate(Stage):
    """Numbers the elements."""

    name = "EnumerateDataset"

    def __init__(self, stage: Stage, start: int) -> None:
        super().__init__(stage)
        self._start = start

    def spec(self) -> Any:
        return (TensorSpec((), np.int64), self.inputs[0].spec())

    def each(self, iteration: Iteration) -> Iterator[Any]:
        for number, element in enumerate(self.inputs[0].elements(iteration), self._start):
            yield np.int64(number), element


class Prefetch(Stage):
    """Says how many elements may be made before they are wanted; the elements are the same."""

    name = "PrefetchDataset"
    one_to_one = True

    def __init__(self, stage: Stage, buffer_size: int) -> None:
        super().__init__(stage)
        self.buffer_size = buffer_size

    def rows(self, iteration: Iteration) -> Rows | None:
        return self.inputs[0].rows(iteration)


class Cache(Stage):
    """Keeps the elements of the first complete pass, and what its shuffles drew from."""

    name = "CacheDataset"

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self._kept: list[list[Any]] = []
        self.draws: list[list[int] | None] = []

    def over(self, *inputs: Stage) -> Stage:
        return Cache(*inputs)  # of other data there is nothing to keep

    def each(self, iteration: Iteration) -> Iterator[Any]:
        if self._kept:
            yield from self._kept[0]
            return
        seen: list[Any] = []
        for element in self.inputs[0].elements(iteration):
            seen.append(element)
            yield element
        if not self._kept and not iteration.peeking:
            self._kept.append(seen)
            self.draws = [iteration.draws(one) for one in self.walk() if isinstance(one, Shuffle)]


class WithOptions(Stage):
    """Carries options along."""

    name = "OptionsDataset"
    one_to_one = True

    def __init__(self, stage: Stage, options: Options) -> None:
        super().__init__(stage)
        self.options = options

    def rows(self, iteration: Iteration) -> Rows | None:
        return self.inputs[0].rows(iteration)


def _zeros(leaf: TensorSpec, size: int) -> Any:
    return np.full(
        tuple(size if one is None else one for one in leaf.shape), b"" if leaf.dtype == object else 0, leaf.dtype
    )
