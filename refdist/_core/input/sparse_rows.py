"""Sparse tensors in a pipeline, and what is known about them before: `tf.SparseTensorSpec`."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from refdist._core.base.dtypes import numpy_dtype
from refdist._core.base.errors import DataLossError
from refdist._core.base.tensor_shape import TensorShape
from refdist._core.devices.tensor import dtype_name
from refdist._core.input.element_parts import Parts, numbers, tensor_kind
from refdist._core.replicas.specs import fitting_sizes

Array = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True)
class SparseTensorSpec:
    """The shape, in which None means any size, and the dtype of a sparse tensor.

    >>> SparseTensorSpec([None, 3], "int32")
    SparseTensorSpec(TensorShape([None, 3]), tf.int32)
    """

    shape: Any
    dtype: Any = "float32"
    of_parts = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(TensorShape(self.shape)))
        object.__setattr__(self, "dtype", numpy_dtype(self.dtype))

    @classmethod
    def from_value(cls, value: Any) -> "SparseTensorSpec":
        """The spec of a sparse tensor."""
        return value.type_spec

    def is_compatible_with(self, other: Any) -> bool:
        """Say whether a sparse tensor, or what another spec stands for, fits this one."""
        spec = getattr(other, "type_spec", other)
        return (
            isinstance(spec, SparseTensorSpec)
            and self.dtype == spec.dtype
            and TensorShape(self.shape).is_compatible_with(spec.shape)
        )

    def batched(self, size: int | None) -> "SparseTensorSpec":
        """The spec of a batch of such elements."""
        return SparseTensorSpec((size, *self.shape), self.dtype)

    def unbatched(self) -> "SparseTensorSpec":
        """The spec of one row."""
        return SparseTensorSpec(self.shape[1:], self.dtype)

    def common(self, other: Any) -> "SparseTensorSpec":
        """The narrowest spec that both fit."""
        return SparseTensorSpec(fitting_sizes(self, other), self.dtype)

    def example(self, size: int, fill: Any = 0) -> "SparseRows":
        """A sparse tensor that fits, in which all sizes that are open are the same, and no place is empty."""
        return SparseRows.of_dense(np.full([size if one is None else one for one in self.shape], fill, self.dtype))

    def __repr__(self) -> str:
        return f"SparseTensorSpec({TensorShape(self.shape)!r}, tf.{dtype_name(self.dtype)})"


class SparseRows(Parts):
    """Values, the indices where they are, and the sizes of the whole."""

    def __init__(self, indices: Array, values: Array, sizes: Sequence[int]) -> None:
        self.indices, self.values, self._sizes = indices, values, tuple(int(size) for size in sizes)

    @classmethod
    def of_dense(cls, array: Array, sizes: Sequence[int] | None = None) -> "SparseRows":
        """All elements of an array, also those that are zero, in a tensor of these sizes."""
        indices = np.indices(array.shape, np.int64).reshape(array.ndim, array.size).T
        return cls(indices, array.reshape(-1), array.shape if sizes is None else sizes)

    @property
    def shape(self) -> tuple[int | None, ...]:
        return self._sizes

    @property
    def type_spec(self) -> SparseTensorSpec:
        return SparseTensorSpec(self._sizes, self.dtype)

    def __getitem__(self, index: Any) -> "SparseRows":
        if isinstance(index, (int, np.integer)):
            there = self.indices[:, 0] == index
            return SparseRows(self.indices[there, 1:], self.values[there], self._sizes[1:])
        rows = [self[row] for row in numbers(index, len(self))]
        return self.stacked(rows) if rows else SparseRows(self.indices[:0], self.values[:0], (0, *self._sizes[1:]))

    def joined(self, group: Sequence["SparseRows"]) -> "SparseRows":
        return self.stacked([one[row] for one in group for row in range(len(one))])

    def stacked(self, group: Sequence["SparseRows"]) -> "SparseRows":
        numbered = [np.insert(one.indices, 0, place, axis=1) for place, one in enumerate(group)]
        sizes = np.array([one.shape for one in group], np.int64).max(axis=0).tolist()
        return SparseRows(np.concatenate(numbered), np.concatenate([one.values for one in group]), (len(group), *sizes))

    def mapped(self, function: Callable[[Any], Any]) -> "SparseRows":
        return SparseRows(self.indices, function(self.values), self._sizes)

    def tensor(self, put: Callable[[Any], Any]) -> Any:
        return tensor_kind("SparseTensor")(self.indices, put(self.values), self._sizes)

    def numpy(self, fill: Any = None) -> Array:
        """The whole array, with a value where there is none."""
        nothing = b"" if self.dtype.kind == "O" else 0
        whole = np.full(self._sizes, nothing if fill is None else fill, self.dtype)
        whole[tuple(self.indices.T)] = self.values
        return whole


def batch_of_dense(arrays: Sequence[Array], row_shape: Sequence[int | None]) -> SparseRows:
    """Make a sparse batch of arrays that fit into rows of one shape; where that is open, the largest decides."""
    largest = np.array([array.shape for array in arrays], np.int64).reshape(len(arrays), -1).max(axis=0)
    wanted = [int(most) if size is None else int(size) for size, most in zip(row_shape, largest.tolist(), strict=True)]
    if any(most > size for most, size in zip(largest.tolist(), wanted, strict=True)):
        raise DataLossError(
            f"sparse_batch() got elements up to the shape {tuple(largest.tolist())}; expected at most {tuple(wanted)}, the "
            f"row_shape. Ask for a larger one."
        )
    rows = [SparseRows.of_dense(array, wanted) for array in arrays]
    return rows[0].stacked(rows)
