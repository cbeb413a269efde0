"""Rows of different lengths in a pipeline, and what is known about them before: `tf.RaggedTensorSpec`."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from refdist._core.base.dtypes import numpy_dtype
from refdist._core.base.tensor_shape import TensorShape
from refdist._core.devices.tensor import dtype_name
from refdist._core.input.element_parts import Parts, numbers, tensor_kind
from refdist._core.replicas.specs import TensorSpec, fitting_sizes

Splits = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True)
class RaggedTensorSpec:
    """The shape, in which None means any size, the dtype, and how many dimensions after the first have rows of any lengths.

    >>> RaggedTensorSpec([None, None], "int32")
    RaggedTensorSpec(TensorShape([None, None]), tf.int32, 1, tf.int64)
    """

    shape: Any
    dtype: Any = "float32"
    ragged_rank: Any = None
    row_splits_dtype: Any = "int64"
    of_parts = True

    def __post_init__(self) -> None:
        sizes = tuple(TensorShape(self.shape))
        rank = len(sizes) - 1 if self.ragged_rank is None else int(self.ragged_rank)
        if not 0 <= rank < max(len(sizes), 1):
            raise ValueError(
                f"RaggedTensorSpec() got ragged_rank={rank} for the shape {sizes}; expected 0 to {len(sizes) - 1}, fewer than "
                f"there are dimensions. Correct one of them."
            )
        known = {
            "shape": sizes,
            "dtype": numpy_dtype(self.dtype),
            "ragged_rank": rank,
            "row_splits_dtype": numpy_dtype(self.row_splits_dtype),
        }
        for name, value in known.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_value(cls, value: Any) -> "RaggedTensorSpec":
        """The spec of a ragged tensor."""
        return value.type_spec

    def is_compatible_with(self, other: Any) -> bool:
        """Say whether a ragged tensor, or what another spec stands for, fits this one."""
        spec = getattr(other, "type_spec", other)
        return (
            isinstance(spec, RaggedTensorSpec)
            and (self.dtype, self.ragged_rank) == (spec.dtype, spec.ragged_rank)
            and TensorShape(self.shape).is_compatible_with(spec.shape)
        )

    def batched(self, size: int | None) -> "RaggedTensorSpec":
        """The spec of a batch of such elements."""
        return RaggedTensorSpec((size, *self.shape), self.dtype, self.ragged_rank + 1, self.row_splits_dtype)

    def unbatched(self) -> Any:
        """The spec of one row."""
        if not self.ragged_rank:
            return TensorSpec(self.shape[1:], self.dtype)
        return RaggedTensorSpec(self.shape[1:], self.dtype, self.ragged_rank - 1, self.row_splits_dtype)

    def common(self, other: Any) -> "RaggedTensorSpec":
        """The narrowest spec that both fit."""
        return dataclasses.replace(self, shape=fitting_sizes(self, other))

    def example(self, size: int, fill: Any = 0) -> "RaggedRows":
        """Rows that fit, in which all sizes that are open are the same."""
        dense = np.full([size if one is None else one for one in self.shape], fill, self.dtype)
        return RaggedRows.of_dense(dense, self.ragged_rank, self.row_splits_dtype)

    def __repr__(self) -> str:
        names = f"tf.{dtype_name(self.dtype)}, {self.ragged_rank}, tf.{dtype_name(self.row_splits_dtype)}"
        return f"RaggedTensorSpec({TensorShape(self.shape)!r}, {names})"


class RaggedRows(Parts):
    """All elements of the innermost rows, and for each dimension of rows where they begin, the outermost first.

    A single row has no such dimension left; it is an array, which becomes a row again in a batch.
    """

    def __init__(self, values: Any, splits: Sequence[Splits] = (), splits_dtype: Any = np.int64) -> None:
        self.values, self.splits, self._splits_dtype = values, tuple(splits), np.dtype(splits_dtype)

    @classmethod
    def of_dense(cls, array: Any, ragged_rank: int, splits_dtype: Any = np.int64) -> "RaggedRows":
        """See an array as rows, which have one length."""
        sizes = array.shape
        counts = [int(np.prod(sizes[: axis + 1])) for axis in range(ragged_rank)]
        splits = [np.arange(count + 1) * size for count, size in zip(counts, sizes[1:], strict=False)]
        flat = array.reshape(int(np.prod(sizes[: ragged_rank + 1])), *sizes[ragged_rank + 1 :])
        return cls(flat, splits, splits_dtype)

    @property
    def shape(self) -> tuple[int | None, ...]:
        count = len(self.splits[0]) - 1 if self.splits else len(self.values)
        return (count, *[None] * len(self.splits), *self.values.shape[1:])

    @property
    def type_spec(self) -> RaggedTensorSpec:
        return RaggedTensorSpec(self.shape, self.dtype, len(self.splits), self._splits_dtype)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, (int, np.integer)):
            if not self.splits:
                return self.values[index]
            start, stop = self.splits[0][index : index + 2]
            return self._inner()[slice(start, stop)]
        rows = numbers(index, len(self))
        if not self.splits:
            return self._of(self.values[index], ())
        starts, lengths = self.splits[0][rows], np.diff(self.splits[0])[rows]
        ends = np.cumsum(lengths)
        # The places of all elements of the chosen rows: each row counts up from where it began.
        places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - lengths), lengths)
        inner = self._inner()[places]
        return self._of(inner.values, (_splits(lengths), *inner.splits))

    def joined(self, group: Sequence["RaggedRows"]) -> "RaggedRows":
        if not self.splits:
            return self._of(np.concatenate([one.values for one in group]), ())
        inner = self._inner().joined([one._inner() for one in group])
        return self._of(
            inner.values, (_splits(np.concatenate([np.diff(one.splits[0]) for one in group])), *inner.splits)
        )

    def stacked(self, group: Sequence["RaggedRows"]) -> "RaggedRows":
        rows = self.joined(group)
        return self._of(rows.values, (_splits(np.array(list(map(len, group)))), *rows.splits))

    def mapped(self, function: Callable[[Any], Any]) -> "RaggedRows":
        return self._of(function(self.values), self.splits)

    def tensor(self, put: Callable[[Any], Any]) -> Any:
        made = put(self.values)
        for splits in reversed(self.splits):
            made = tensor_kind("RaggedTensor")(made, splits.astype(self._splits_dtype))
        return made

    def numpy(self) -> np.ndarray[Any, Any]:
        if not self.splits:
            return self.values
        rows = [self[place].numpy() for place in range(len(self))]
        if len({row.shape for row in rows}) == 1 and rows[0].dtype != object:
            return np.stack(rows)
        found = np.empty(len(rows), object)
        for place, row in enumerate(rows):
            found[place] = row
        return found

    def _inner(self) -> "RaggedRows":
        return self._of(self.values, self.splits[1:])

    def _of(self, values: Any, splits: Sequence[Splits]) -> "RaggedRows":
        return RaggedRows(values, splits, self._splits_dtype)


def _splits(lengths: Splits) -> Splits:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
