"""Putting elements together into batches, and taking batches apart."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from refdist import nest
from refdist.data import rows as order
from refdist.data.sources import sealed
from refdist.data.stage import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Iteration, Skip, Stage, row_of
from refdist.spec import TensorSpec, batched, spec_of, unbatched


class Batch(Stage):
    """Puts elements together; padded, where sizes may differ."""

    name = "BatchDataset"

    def __init__(self, stage: Stage, size: int, drop_remainder: bool, padding: "Padding | None" = None) -> None:
        super().__init__(stage)
        self.size, self.drop_remainder, self._padding = size, drop_remainder, padding
        if padding is not None:
            self.name = "PaddedBatchDataset"

    def spec(self) -> Any:
        inner = self.inputs[0].spec()
        if self._padding is not None:
            inner = self._padding.spec(inner)
        return batched(inner, self.size if self.drop_remainder else None)

    def each(self, iteration: Iteration) -> Iterator[Any]:
        rows = self.inputs[0].rows(iteration) if self._padding is None else None
        if rows is not None:
            for block in order.chunks(rows.blocks(), self.size, self.drop_remainder):
                iteration.count(self, len(block))
                yield rows.take(block)
            return
        elements = self.inputs[0].elements(iteration)
        put = stacked if self._padding is None else self._padding.stacked
        while group := list(itertools.islice(elements, self.size)):
            if len(group) < self.size and self.drop_remainder:
                return
            iteration.count(self, len(group))
            yield put(group)

    def cardinality(self) -> int:
        total = self.inputs[0].cardinality()
        if total < 0:
            return total
        return total // self.size if self.drop_remainder else -(-total // self.size)

    def anchor(self) -> Stage:
        return self  # it counts what goes into its batches, so that a position does not depend on their size

    def resumed(self, consumed: int) -> Stage:
        return self.over(Skip(self.inputs[0], consumed)) if consumed else self


class Padding:
    """How elements of different sizes are made alike."""

    def __init__(self, shapes: Any, values: Any) -> None:
        self._shapes, self._values = shapes, values

    def spec(self, inner: Any) -> Any:
        """The spec of an element after padding."""
        shapes = self._shapes_for(inner)
        leaves = [TensorSpec(shape, leaf.dtype) for leaf, shape in zip(nest.flatten(inner), shapes, strict=True)]
        return nest.pack_sequence_as(inner, leaves)

    def stacked(self, group: Sequence[Any]) -> Any:
        """One batch of a group of elements."""
        shapes = self._shapes_for(spec_of(group[0]))
        values = nest.flatten(self._values) if self._values is not None else [None] * len(shapes)
        flat = [nest.flatten(element) for element in group]
        columns = [
            _padded([leaves[i] for leaves in flat], shape, values[i if len(values) > 1 else 0])
            for i, shape in enumerate(shapes)
        ]
        return nest.pack_sequence_as(group[0], columns)

    def _shapes_for(self, inner: Any) -> list[tuple[int | None, ...]]:
        leaves = nest.flatten(inner)
        if self._shapes is None:
            return [tuple(None for _ in leaf.shape) for leaf in leaves]
        return list(_along(inner, self._shapes))


def _along(inner: Any, shapes: Any) -> Iterator[tuple[int | None, ...]]:
    """The shapes of a nest of shapes, in the order of the leaves of a nest of elements: dicts by their sorted keys."""
    if isinstance(inner, dict):
        for key in sorted(inner):
            yield from _along(inner[key], shapes[key])
    elif isinstance(inner, (tuple, list)):
        for part, shape in zip(inner, shapes, strict=True):
            yield from _along(part, shape)
    else:
        yield tuple(None if size in (None, -1) else int(size) for size in shapes)


def _padded(arrays: Sequence[Any], shape: tuple[int | None, ...], value: Any) -> Any:
    largest = tuple(
        max(array.shape[axis] for array in arrays) if size is None else size for axis, size in enumerate(shape)
    )
    fill = value if value is not None else (b"" if arrays[0].dtype == object else 0)
    out = np.full((len(arrays), *largest), fill, dtype=arrays[0].dtype)
    for index, array in enumerate(arrays):
        if any(mine > most for mine, most in zip(array.shape, largest, strict=True)):
            raise ValueError(
                f"padded_batch() got an element of shape {array.shape}; expected at most {largest}. Ask for a larger shape."
            )
        out[(index, *(slice(0, size) for size in array.shape))] = array
    return sealed(out)


def stacked(group: Sequence[Any]) -> Any:
    """One batch of a group of elements of one shape."""

    def one(leaves: list[Any]) -> Any:
        shapes = {np.shape(leaf) for leaf in leaves}
        if len(shapes) > 1:
            raise ValueError(
                f"batch() got elements of shapes {', '.join(map(str, sorted(shapes)))}; expected one shape. Use padded_batch()."
            )
        if len({np.asarray(leaf).dtype for leaf in leaves}) > 1:
            raise ValueError(
                "batch() got elements of several dtypes; expected one. Convert them with tf.cast() in a map()."
            )
        return sealed(np.stack(leaves))

    def differ() -> Exception:
        return ValueError(
            "batch() got elements of different structure; expected one. Return the same nest for every element."
        )

    return nest.transpose(list(group), one, differ)


class Unbatch(Stage):
    """Takes batches apart."""

    name = "UnbatchDataset"

    def spec(self) -> Any:
        return unbatched(self.inputs[0].spec())

    def each(self, iteration: Iteration) -> Iterator[Any]:
        for batch in self.inputs[0].elements(iteration):
            for index in range(_length("unbatch", batch)):
                yield nest.map_structure(lambda leaf, i=index: row_of(leaf, i), batch)

    def cardinality(self) -> int:
        total = self.inputs[0].cardinality()
        return total if total in (0, INFINITE_CARDINALITY) else UNKNOWN_CARDINALITY


def _length(method: str, batch: Any) -> int:
    leaves = nest.flatten(batch)
    if any(np.ndim(leaf) == 0 or len(leaf) != len(leaves[0]) for leaf in leaves):
        raise ValueError(
            f"{method}() got an element without a common first dimension; expected batches. Batch them first."
        )
    return len(leaves[0])


class Rebatch(Stage):
    """Cuts batches, joined, into batches of another size."""

    name = "RebatchDataset"

    def __init__(self, stage: Stage, size: int, drop_remainder: bool) -> None:
        super().__init__(stage)
        self._size, self._drop_remainder = size, drop_remainder

    def spec(self) -> Any:
        return batched(unbatched(self.inputs[0].spec()), self._size if self._drop_remainder else None)

    def each(self, iteration: Iteration) -> Iterator[Any]:
        rest: Any = None
        for batch in self.inputs[0].elements(iteration):
            _length("rebatch", batch)
            rest = batch if rest is None else nest.map_structure(lambda a, b: np.concatenate([a, b]), rest, batch)
            while len(nest.flatten(rest)[0]) >= self._size:
                yield nest.map_structure(lambda leaf: sealed(leaf[: self._size]), rest)
                rest = nest.map_structure(lambda leaf: leaf[self._size :], rest)
        if rest is not None and len(nest.flatten(rest)[0]) and not self._drop_remainder:
            yield nest.map_structure(sealed, rest)

    def cardinality(self) -> int:
        total = self.inputs[0].cardinality()
        return total if total in (0, INFINITE_CARDINALITY) else UNKNOWN_CARDINALITY
