"""Combining elements into batches, and taking batches apart."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from refdist._core.base import nest
from refdist._core.base.convert import to_array
from refdist._core.input import rows as order
from refdist._core.input.sources import read_only
from refdist._core.input.stage import UNKNOWN_CARDINALITY, Iteration, Skip, Stage, row_of
from refdist._core.replicas.specs import TensorSpec, batched, require_tensor, unbatched
from refdist._core.replicas.values import of_parts


class Batch(Stage):
    """Combines elements into batches, padded if their sizes may differ."""

    name = "BatchDataset"

    def __init__(self, stage: Stage, size: int, drop_remainder: bool, padding: "Padding | None" = None) -> None:
        super().__init__(stage)
        self.size, self.drop_remainder, self._padding = size, drop_remainder, padding
        if padding is not None:
            self.name = padding.name

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
        return self  # it counts the elements in its batches, so that a position does not depend on the batch size

    def resumed(self, consumed: int) -> Stage:
        return self.over(Skip(self.inputs[0], consumed)) if consumed else self


class Padding:
    """How elements of different sizes are padded to one size."""

    name = "PaddedBatchDataset"

    def __init__(self, shapes: Any, values: Any) -> None:
        self._shapes, self._values = shapes, values

    def spec(self, inner: Any) -> Any:
        """The spec of an element after padding."""
        shapes, _ = self._parts(nest.map_structure(_single, inner))
        leaves = [TensorSpec(shape, leaf.dtype) for leaf, shape in zip(nest.flatten(inner), shapes, strict=True)]
        return nest.pack_sequence_as(inner, leaves)

    def stacked(self, group: Sequence[Any]) -> Any:
        """Combine a group of elements into one batch."""
        inner = nest.map_structure(lambda leaf: TensorSpec((None,) * np.ndim(_single(leaf)), leaf.dtype), group[0])
        pairs = iter(zip(*self._parts(inner), strict=True))
        return nest.transpose(list(group), lambda leaves: _padded(leaves, *next(pairs)), _differ)

    def _parts(self, inner: Any) -> tuple[list[tuple[int | None, ...]], list[Any]]:
        """Return the shape and the padding value for each leaf of an element, or raise if they do not fit it."""
        several = nest.is_container(self._values)
        values = self._values if several else nest.map_structure(lambda _: self._values, inner)
        shapes = [leaf.shape for leaf in nest.flatten(inner)]
        if self._shapes is not None:
            shapes = _fitted(inner, self._shapes, "padded_shapes", _shape)
        return shapes, _fitted(inner, values, "padding_values", _fill)


def _single(leaf: Any) -> Any:
    """Return the leaf of an element, or of its spec, or raise if it is a ragged or a sparse one."""
    if of_parts(leaf):
        raise TypeError(
            f"padded_batch() got elements {getattr(leaf, 'type_spec', leaf)}; expected tensors. Use batch() and to_tensor(), or "
            f"make tensors of them first: map(lambda row: row) of ragged rows, map(tf.sparse.to_dense) of sparse ones."
        )
    return leaf


def _fitted(inner: Any, given: Any, name: str, of_leaf: Callable[[TensorSpec, Any], Any]) -> list[Any]:
    """List what was given for each leaf of an element, in the order of the leaves: dicts by sorted key."""
    if isinstance(inner, dict):
        fits = isinstance(given, dict) and given.keys() == inner.keys()
        parts = [(inner[key], given[key]) for key in sorted(inner)] if fits else None
    elif isinstance(inner, (tuple, list)):
        fits = isinstance(given, (tuple, list)) and len(given) == len(inner)
        parts = list(zip(inner, given, strict=True)) if fits else None
    else:
        return [of_leaf(inner, given)]
    if parts is None:
        raise TypeError(
            f"padded_batch() got {name}={given!r} for elements {inner}; expected the same nest. Give one for each part."
        )
    return [found for part, given_part in parts for found in _fitted(part, given_part, name, of_leaf)]


def _shape(leaf: TensorSpec, given: Any) -> tuple[int | None, ...]:
    sizes = (given,) if isinstance(given, int) else tuple(given)
    if len(sizes) != len(leaf.sizes):
        raise ValueError(
            f"padded_batch() got the shape {sizes} for {leaf}; expected {len(leaf.sizes)} sizes, as many as it has dimensions. "
            f"Write None for the size of the largest."
        )
    wanted = tuple(None if size in (None, -1) else int(size) for size in sizes)
    if any(
        most is not None and size is not None and size > most for most, size in zip(wanted, leaf.sizes, strict=True)
    ):
        raise ValueError(
            f"padded_batch() got the shape {wanted} for {leaf}; expected at least its sizes. Ask for a larger shape."
        )
    return wanted


def _fill(leaf: TensorSpec, given: Any) -> Any:
    default = b"" if leaf.dtype == object else 0
    return default if given is None else to_array(given, leaf.dtype).item()


def _padded(arrays: Sequence[Any], shape: tuple[int | None, ...], fill: Any) -> Any:
    _one_dtype("padded_batch", arrays)
    if any(np.ndim(array) != len(shape) for array in arrays):
        raise ValueError(
            f"padded_batch() got elements of {', '.join(str(np.ndim(array)) for array in arrays)} dimensions; expected "
            f"{len(shape)} in all of them. Reshape them in a map()."
        )
    largest = tuple(
        max(array.shape[axis] for array in arrays) if size is None else size for axis, size in enumerate(shape)
    )
    out = np.full((len(arrays), *largest), fill, dtype=arrays[0].dtype)
    for index, array in enumerate(arrays):
        if any(size > most for size, most in zip(array.shape, largest, strict=True)):
            raise ValueError(
                f"padded_batch() got an element of shape {array.shape}; expected at most {largest}. Ask for a larger shape."
            )
        # A scalar string is taken out of its array, because the array itself would become an element of the batch.
        out[(index, *(slice(0, size) for size in array.shape))] = array[()]
    return read_only(out)


def stacked(group: Sequence[Any]) -> Any:
    """Combine a group of elements of one shape into one batch."""

    def one(leaves: list[Any]) -> Any:
        if of_parts(leaves[0]):
            return leaves[0].stacked(leaves)
        shapes = {np.shape(leaf) for leaf in leaves}
        if len(shapes) > 1:
            raise ValueError(
                f"batch() got elements of shapes {', '.join(map(str, sorted(shapes)))}; expected one shape. Use padded_batch() or "
                f"ragged_batch()."
            )
        _one_dtype("batch", leaves)
        return read_only(np.stack(leaves))

    return nest.transpose(list(group), one, _differ)


def _one_dtype(method: str, leaves: Sequence[Any]) -> None:
    if len({np.asarray(require_tensor(leaf)).dtype for leaf in leaves}) > 1:
        raise ValueError(
            f"{method}() got elements of several dtypes; expected one. Convert them with tf.cast() in a map()."
        )


def _differ() -> Exception:
    return ValueError(
        "A batch got elements of different structure; expected one. Return the same nest for every element."
    )


class Unbatch(Stage):
    """Takes batches apart."""

    name = "UnbatchDataset"

    def spec(self) -> Any:
        return unbatched(_require_batches("unbatch", self.inputs[0].spec()))

    def each(self, iteration: Iteration) -> Iterator[Any]:
        for batch in self.inputs[0].elements(iteration):
            for index in range(_length("unbatch", batch)):
                yield nest.map_structure(lambda leaf, i=index: row_of(leaf, i), batch)

    def cardinality(self) -> int:
        total = self.inputs[0].cardinality()
        if total < 0:
            return total
        sizes = [leaf.shape[0] for leaf in nest.flatten(_require_batches("unbatch", self.inputs[0].spec()))]
        return total * sizes[0] if all(sizes) else UNKNOWN_CARDINALITY


def _require_batches(method: str, spec: Any) -> Any:
    """Return the same spec, or raise if its elements cannot be batches."""
    for leaf in nest.flatten(spec):
        if not leaf.shape:
            raise ValueError(f"{method}() got elements {spec}; expected batches, not scalars. Batch them first.")
    return spec


def _length(method: str, batch: Any) -> int:
    leaves = nest.flatten(batch)
    if any(np.ndim(leaf) == 0 or len(leaf) != len(leaves[0]) for leaf in leaves):
        raise ValueError(
            f"{method}() got an element without a common first dimension; expected batches. Batch them first."
        )
    return len(leaves[0])


def _joined(first: Any, second: Any) -> Any:
    return first.joined([first, second]) if of_parts(first) else np.concatenate([first, second])


class Rebatch(Stage):
    """Joins batches, and cuts them into batches of another size."""

    name = "RebatchDataset"

    def __init__(self, stage: Stage, size: int, drop_remainder: bool) -> None:
        super().__init__(stage)
        self.size, self._drop_remainder = size, drop_remainder

    def spec(self) -> Any:
        inner = _require_batches("rebatch", self.inputs[0].spec())
        # Batches of a known size that is a multiple leave no remainder.
        divides = all(leaf.shape[0] is not None and leaf.shape[0] % self.size == 0 for leaf in nest.flatten(inner))
        return batched(unbatched(inner), self.size if self._drop_remainder or divides else None)

    def each(self, iteration: Iteration) -> Iterator[Any]:
        rest: Any = None
        for batch in self.inputs[0].elements(iteration):
            _length("rebatch", batch)
            rest = batch if rest is None else nest.map_structure(_joined, rest, batch)
            while len(nest.flatten(rest)[0]) >= self.size:
                yield nest.map_structure(lambda leaf: read_only(leaf[: self.size]), rest)
                rest = nest.map_structure(lambda leaf: leaf[self.size :], rest)
        if rest is not None and len(nest.flatten(rest)[0]) and not self._drop_remainder:
            yield nest.map_structure(read_only, rest)

    def cardinality(self) -> int:
        return UNKNOWN_CARDINALITY  # as in TensorFlow: it depends on the sizes of the batches
