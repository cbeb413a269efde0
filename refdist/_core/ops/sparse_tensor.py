"""`tf.SparseTensor`: the elements of a tensor that are not zero, and where they are."""

from typing import Any

import numpy as np

from refdist._core.base.errors import InvalidArgumentError
from refdist._core.base.jax_facts import is_tracer
from refdist._core.base.tensor_shape import TensorShape
from refdist._core.input.sparse_rows import SparseRows, SparseTensorSpec
from refdist._core.ops.byte_strings import byte_string, string_tensor
from refdist._core.ops.computed_with_jax import kernel
from refdist._core.ops.index_functions import gather_nd, unsorted_segment_sum
from refdist._core.ops.shape_functions import gather
from refdist._core.ops.tensor_functions import concat as dense_concat
from refdist._core.ops.tensor_functions import constant, convert_to_tensor, fresh
from refdist._core.ops.tensor_functions import reduce_sum as dense_sum
from refdist._core.seam.draft import leave_draft_for_shape


class SparseTensor:
    """Elements at indices, in a tensor of a shape that is otherwise empty.

    >>> import refdist as tf
    >>> tf.sparse.to_dense(tf.SparseTensor([[0, 1], [1, 0]], [3, 4], [2, 2])).tolist()
    [[0, 3], [4, 0]]
    """

    of_parts = True  # it is a value of a replica, though no single tensor

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        self._indices = convert_to_tensor(indices) if is_tracer(indices) else fresh(_wide(indices))
        self._values = convert_to_tensor(values)
        self._sizes = tuple(int(size) for size in dense_shape)
        expected = (self._values.shape[0] if self._values.shape else 0, len(self._sizes))
        if tuple(self._indices.shape) != expected:
            raise ValueError(
                f"A SparseTensor got indices of shape {tuple(self._indices.shape)} for {expected[0]} values in {expected[1]} "
                f"dimensions; expected one row for each value. Correct them."
            )

    indices = property(lambda self: self._indices, doc="Where the values are: a row for each.")
    values = property(lambda self: self._values, doc="The values that are not zero.")
    dtype = property(lambda self: self._values.dtype, doc="The dtype of the values.")
    shape = property(lambda self: TensorShape(self._sizes), doc="The shape of the whole.")
    rank = property(lambda self: len(self._sizes), doc="The number of dimensions.")

    @property
    def dense_shape(self) -> Any:
        """The sizes of the whole tensor, as a tensor."""
        return fresh(np.array(self._sizes, np.int64))

    def host_parts(self) -> SparseRows:
        """The indices and the elements in numpy, as pipelines have them."""
        return SparseRows(np.asarray(self._indices), np.asarray(self._values), self._sizes)

    @property
    def type_spec(self) -> SparseTensorSpec:
        """The shape and the dtype."""
        return SparseTensorSpec(self._sizes, self.dtype)

    _type_spec = type_spec  # what programs reach for in TensorFlow

    def with_values(self, new_values: Any) -> "SparseTensor":
        """Other elements at the same indices."""
        return SparseTensor(self._indices, new_values, self._sizes)

    def __repr__(self) -> str:
        return f"<tf.SparseTensor of {self._values.shape[0]} values, shape={self._sizes}, dtype={self.dtype}>"


def to_dense(sp_input: SparseTensor, default_value: Any = None, validate_indices: bool = True, name: Any = None) -> Any:
    """Make the whole tensor, with a value where there is none."""
    given = _sparse(sp_input, "to_dense")
    if given.dtype.kind == "O":
        return string_tensor(
            given.host_parts().numpy(None if default_value is None else byte_string(default_value, "to_dense()"))
        )
    sizes = tuple(given.shape)
    filled = constant(0 if default_value is None else default_value, given.dtype, sizes)
    return kernel("scattered", filled, given.indices, given.values, how="set")


def from_dense(tensor: Any, name: Any = None) -> SparseTensor:
    """Keep the elements that are not zero."""
    given = convert_to_tensor(tensor)
    leave_draft_for_shape(given, "from_dense() got a tensor", "Call it outside, or in Dataset.map().")
    places = np.argwhere(np.asarray(given) != 0)
    return SparseTensor(places, gather_nd(given, places.astype(np.int32)), given.shape)


def to_indicator(sp_input: SparseTensor, vocab_size: Any, name: Any = None) -> Any:
    """Say of each class whether it is among the values, which are numbers of classes, along the last dimension."""
    given, count = _sparse(sp_input, "to_indicator"), int(vocab_size)
    places = np.concatenate([np.asarray(given.indices)[:, :-1], np.asarray(given.values)[:, None]], axis=1)
    if places.size and not 0 <= places[:, -1].min() <= places[:, -1].max() < count:
        raise InvalidArgumentError(
            f"to_indicator() got values from {places[:, -1].min()} to {places[:, -1].max()}; expected numbers below {count}, the "
            f"number of classes. Correct vocab_size."
        )
    found = np.zeros((*tuple(given.shape)[:-1], count), bool)
    found[tuple(places.T)] = True
    return fresh(found)


def reduce_sum(
    sp_input: SparseTensor, axis: Any = None, keepdims: bool = False, output_is_sparse: bool = False, name: Any = None
) -> Any:
    """Add up the elements, along some dimensions."""
    whole = dense_sum(to_dense(_sparse(sp_input, "reduce_sum")), axis, keepdims)
    return from_dense(whole) if output_is_sparse else whole


def concat(axis: int, sp_inputs: Any, expand_nonconcat_dims: bool = False, name: Any = None) -> SparseTensor:
    """Put sparse tensors one after the other along a dimension."""
    parts = [_sparse(one, "concat") for one in sp_inputs]
    sizes = np.array([tuple(one.shape) for one in parts])
    place = axis % sizes.shape[1]
    others = np.delete(sizes, place, axis=1)
    if (others != others[0]).any() and not expand_nonconcat_dims:
        raise InvalidArgumentError(
            f"concat() got sparse tensors of shapes {', '.join(map(str, sizes.tolist()))}; expected one size in all dimensions but "
            f"{place}. Pass expand_nonconcat_dims=True."
        )
    moved = [np.asarray(one.indices).copy() for one in parts]
    for indices, before in zip(moved, np.cumsum([0, *sizes[:-1, place]]), strict=True):
        indices[:, place] += before
    shape = sizes.max(axis=0)
    shape[place] = sizes[:, place].sum()
    return reorder(SparseTensor(np.concatenate(moved), dense_concat([one.values for one in parts], 0), shape))


def reorder(sp_input: SparseTensor, name: Any = None) -> SparseTensor:
    """Put elements in the order of their indices."""
    given = _sparse(sp_input, "reorder")
    order = np.lexsort(np.asarray(given.indices).T[::-1])
    return SparseTensor(
        np.asarray(given.indices)[order], gather(given.values, order.astype(np.int32)), tuple(given.shape)
    )


def sparse_dense_matmul(
    sp_a: SparseTensor, b: Any, adjoint_a: bool = False, adjoint_b: bool = False, name: Any = None
) -> Any:
    """Multiply a sparse matrix by a whole one."""
    given, whole = _sparse(sp_a, "sparse_dense_matmul"), convert_to_tensor(b)
    whole = whole.T if adjoint_b else whole
    row, column = (1, 0) if adjoint_a else (0, 1)
    parts = gather(whole, given.indices[:, column]) * given.values[:, None]
    return unsorted_segment_sum(parts, given.indices[:, row], given.shape[row])


def _sparse(value: Any, name: str) -> SparseTensor:
    if not isinstance(value, SparseTensor):
        raise TypeError(
            f"{name}() got a {type(value).__name__}; expected a tf.SparseTensor. Use tf.sparse.from_dense()."
        )
    return value


def _wide(indices: Any) -> np.ndarray[Any, Any]:
    found = np.asarray(indices)
    return found.astype(np.int64).reshape(found.shape if found.size else (0, found.shape[-1] if found.ndim == 2 else 1))
