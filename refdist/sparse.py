"""`tf.sparse`: tensors that are mostly empty."""

from refdist._core.ops.missing_names import lacking as _lacking
from refdist._core.ops.sparse_tensor import (
    SparseTensor,
    concat,
    from_dense,
    reduce_sum,
    reorder,
    sparse_dense_matmul,
    to_dense,
    to_indicator,
)

__getattr__ = _lacking("sparse")

__all__ = [
    "SparseTensor",
    "concat",
    "from_dense",
    "reduce_sum",
    "reorder",
    "sparse_dense_matmul",
    "to_dense",
    "to_indicator",
]
