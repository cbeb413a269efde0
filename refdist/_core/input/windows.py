"""Elements that are datasets themselves: windows of consecutive elements."""

import collections
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from refdist._core.base import nest
from refdist._core.input.stage import Iteration, Stage
from refdist._core.replicas.specs import DatasetSpec


class Window(Stage):
    """Makes datasets of a few elements each: one for each leaf of an element."""

    name = "WindowDataset"

    def __init__(
        self, stage: Stage, of: Callable[[Stage], Any], size: int, shift: int, stride: int, drop_remainder: bool
    ) -> None:
        super().__init__(stage)
        self._of, self._shift, self._stride, self._drop_remainder = of, shift, stride, drop_remainder
        self._span = (size - 1) * stride + 1  # from the first element of a window to its last

    def spec(self) -> Any:
        return nest.map_structure(lambda leaf: DatasetSpec(leaf, self._of), self.inputs[0].spec())

    def each(self, iteration: Iteration) -> Iterator[Any]:
        elements = self.inputs[0].elements(iteration)
        held: list[Any] = []
        while True:
            held += itertools.islice(elements, self._span - len(held))
            if not held or (self._drop_remainder and len(held) < self._span):
                return
            yield self._made(held[:: self._stride])
            collections.deque(
                itertools.islice(elements, max(0, self._shift - len(held))), maxlen=0
            )  # skip what lies between windows
            held = held[self._shift :]

    def cardinality(self) -> int:
        total = self.inputs[0].cardinality()
        if total < 0:
            return total
        return len(range(0, max(0, total - self._span + 1) if self._drop_remainder else total, self._shift))

    def _made(self, window: Sequence[Any]) -> Any:
        parts = zip(*map(nest.flatten, window), strict=True)
        made = [self._of(InMemoryElements(part, lambda i=index: self._part(i))) for index, part in enumerate(parts)]
        return nest.pack_sequence_as(window[0], made)

    def _part(self, index: int) -> Any:
        return nest.flatten(self.inputs[0].spec())[index]


class InMemoryElements(Stage):
    """Elements that are held in memory."""

    name = "VariantDataset"

    def __init__(self, elements: Sequence[Any], spec: Callable[[], Any]) -> None:
        super().__init__()
        self._elements, self._spec = elements, spec

    def spec(self) -> Any:
        return self._spec()  # computed only on demand, because it may have to read data

    def each(self, iteration: Iteration) -> Iterator[Any]:
        return iter(self._elements)

    def cardinality(self) -> int:
        return len(self._elements)
