"""Batches of elements of different sizes that become ragged or sparse tensors."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from refdist._core.base import nest
from refdist._core.input.batching import Padding
from refdist._core.input.ragged_rows import RaggedRows, RaggedTensorSpec
from refdist._core.input.sparse_rows import SparseTensorSpec, batch_of_dense
from refdist._core.input.stage import Iteration, Stage
from refdist._core.replicas.specs import TensorSpec
from refdist._core.replicas.values import of_parts


class AsRows(Stage):
    """Sees tensors of unknown sizes as rows, of which batch() makes ragged tensors; the others are unchanged."""

    name = "MapDataset"
    one_to_one = True

    def __init__(self, stage: Stage, splits_dtype: Any) -> None:
        super().__init__(stage)
        self._splits_dtype = splits_dtype

    def spec(self) -> Any:
        return nest.map_structure(self._row_spec, self.inputs[0].spec())

    def each(self, iteration: Iteration) -> Iterator[Any]:
        spec = self.spec()
        for element in self.inputs[0].elements(iteration):
            yield nest.map_structure(_row, spec, element)

    def _row_spec(self, leaf: Any) -> Any:
        if not isinstance(leaf, TensorSpec) or None not in leaf.sizes:
            return leaf
        last = max(axis for axis, size in enumerate(leaf.sizes) if size is None)
        return RaggedTensorSpec(leaf.shape, leaf.dtype, last, self._splits_dtype)


class IntoSparse(Padding):
    """How elements of different sizes become the rows of a sparse tensor, all of one shape."""

    name = "DenseToSparseBatchDataset"

    def __init__(self, row_shape: Any) -> None:
        super().__init__(row_shape, None)
        self._row_shape = tuple(row_shape)

    def spec(self, inner: Any) -> Any:
        if nest.is_nested(inner) or not isinstance(inner, TensorSpec):
            raise TypeError(
                f"sparse_batch() got elements {inner}; expected a single tensor each. Choose one in a map(), and zip() the rest."
            )
        return SparseTensorSpec(self._row_shape, inner.dtype)

    def stacked(self, group: Sequence[Any]) -> Any:
        return batch_of_dense([np.asarray(array) for array in group], self._row_shape)


def _row(spec: Any, leaf: Any) -> Any:
    if not isinstance(spec, RaggedTensorSpec) or of_parts(leaf):
        return leaf
    return RaggedRows.of_dense(leaf, spec.ragged_rank, spec.row_splits_dtype)
