"""The rarer operations of `tf.linalg`."""

from typing import Any

import numpy as np

from refdist._core.ops.computed_with_jax import kernel
from refdist._core.ops.linear_algebra import cholesky, diag_part, eigh, matrix_transpose
from refdist._core.ops.operation import operation
from refdist._core.ops.operation_table import log, real
from refdist._core.ops.tensor_functions import cast, convert_to_tensor, matmul, reduce_sum


@operation
def triangular_solve(matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: Any = None) -> Any:
    """Find what triangular matrices have to be multiplied by to give the right-hand side."""
    return kernel("triangular_solved", convert_to_tensor(matrix), convert_to_tensor(rhs), lower=lower, adjoint=adjoint)


@operation
def cholesky_solve(chol: Any, rhs: Any, name: Any = None) -> Any:
    """Find what matrices have to be multiplied by to give the right-hand side, from their Cholesky decompositions."""
    return triangular_solve(chol, triangular_solve(chol, rhs), adjoint=True)


@operation
def expm(input: Any, name: Any = None) -> Any:
    """The exponential of matrices."""
    return kernel("exponential", convert_to_tensor(input))


@operation
def logdet(matrix: Any, name: Any = None) -> Any:
    """The logarithm of the determinant of positive definite matrices."""
    return 2 * reduce_sum(log(real(diag_part(cholesky(matrix)))), -1)


@operation
def slogdet(input: Any, name: Any = None) -> tuple[Any, Any]:
    """The sign of the determinant of matrices, and the logarithm of its size."""
    given = convert_to_tensor(input)
    sign, size = given.__array_namespace__().linalg.slogdet(given)
    return convert_to_tensor(sign), convert_to_tensor(size)


@operation
def pinv(a: Any, rcond: Any = None, validate_args: bool = False, name: Any = None) -> Any:
    """The inverse of matrices as far as they have one."""
    given = convert_to_tensor(a)
    limit = 10 * max(given.shape[-2:]) * np.finfo(given.dtype).eps if rcond is None else rcond
    return convert_to_tensor(given.__array_namespace__().linalg.pinv(given, rcond=limit)).astype(given.dtype)


@operation
def lstsq(matrix: Any, rhs: Any, l2_regularizer: float = 0.0, fast: bool = True, name: Any = None) -> Any:
    """Find what comes nearest to giving the right-hand side when matrices are multiplied by it."""
    given, right = convert_to_tensor(matrix), convert_to_tensor(rhs)
    if not fast and not l2_regularizer:
        return matmul(pinv(given), right)
    turned = matrix_transpose(given, conjugate=True)
    tall = given.shape[-2] >= given.shape[-1]
    square = matmul(turned, given) if tall else matmul(given, turned)
    lower = cholesky(square + cast(np.eye(square.shape[-1]) * l2_regularizer, given.dtype))
    return cholesky_solve(lower, matmul(turned, right)) if tall else matmul(turned, cholesky_solve(lower, right))


@operation
def eigvalsh(tensor: Any, name: Any = None) -> Any:
    """The eigenvalues of symmetric matrices."""
    return eigh(tensor)[0]


@operation
def matrix_rank(a: Any, tol: Any = None, validate_args: bool = False, name: Any = None) -> Any:
    """How many rows of matrices are independent."""
    given = convert_to_tensor(a)
    return cast(given.__array_namespace__().linalg.matrix_rank(given, tol), np.int32)


@operation
def tensor_diag(diagonal: Any, name: Any = None) -> Any:
    """Make a tensor of twice as many dimensions that has another one on its diagonal."""
    given = convert_to_tensor(diagonal)
    flat = given.reshape(-1)
    return (flat[:, None] * np.eye(flat.shape[0], dtype=given.dtype)).reshape(*given.shape, *given.shape)


@operation
def tensor_diag_part(input: Any, name: Any = None) -> Any:
    """The diagonal of a tensor, which has half as many dimensions."""
    given = convert_to_tensor(input)
    sizes = given.shape[: given.ndim // 2]
    count = int(np.prod(sizes))
    return given.__array_namespace__().diagonal(given.reshape(count, count)).reshape(sizes)
