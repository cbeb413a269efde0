"""`tf.linalg`: matrices."""

from refdist._core.ops.linear_algebra import (
    adjoint,
    band_part,
    cholesky,
    cross,
    det,
    diag,
    diag_part,
    eigh,
    einsum,
    global_norm,
    inv,
    matrix_transpose,
    matvec,
    norm,
    normalize,
    qr,
    set_diag,
    solve,
    svd,
    tensordot,
    trace,
)
from refdist._core.ops.missing_names import lacking as _lacking
from refdist._core.ops.neural_layers import l2_normalize
from refdist._core.ops.shape_functions import eye
from refdist._core.ops.tensor_functions import matmul

__getattr__ = _lacking("linalg")

__all__ = [
    "adjoint",
    "band_part",
    "cholesky",
    "cross",
    "det",
    "diag",
    "diag_part",
    "eigh",
    "einsum",
    "eye",
    "global_norm",
    "inv",
    "l2_normalize",
    "matmul",
    "matrix_transpose",
    "matvec",
    "norm",
    "normalize",
    "qr",
    "set_diag",
    "solve",
    "svd",
    "tensordot",
    "trace",
]
