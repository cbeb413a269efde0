from refdist._core.ops.sparse_tensor import (
    SparseTensor as SparseTensor,
    concat as concat,
    from_dense as from_dense,
    reduce_sum as reduce_sum,
    reorder as reorder,
    sparse_dense_matmul as sparse_dense_matmul,
    to_dense as to_dense,
    to_indicator as to_indicator,
)

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
