"""`tf.sparse`: tensors that are mostly empty."""

from refdist._core.ops.missing_names import lacking as _lacking
from refdist._core.ops.sparse_tensor import SparseTensor, from_dense, reorder, sparse_dense_matmul, to_dense

__getattr__ = _lacking("sparse")

__all__ = [
    "SparseTensor",
    "from_dense",
    "reorder",
    "sparse_dense_matmul",
    "to_dense",
]
