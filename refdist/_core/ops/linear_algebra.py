"""`tf.linalg`: matrices, and stacks of them."""

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from refdist._core.base.errors import InvalidArgumentError
from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.ops.operation import operation
from refdist._core.ops.operation_table import abs, conj, maximum, reduce_max, sqrt
from refdist._core.ops.tensor_functions import cast, convert_to_tensor, matmul, reduce_sum, square


def _of_matrices(name: str, function: str) -> Any:
    """Make an operation on a stack of matrices, from the function of the array namespace."""

    def apply(input: Any, name: Any = None) -> Any:
        given = convert_to_tensor(input)
        if given.ndim < 2 or given.dtype.kind not in "fcV":
            raise InvalidArgumentError(
                f"{label}() got a tensor of shape {tuple(given.shape)} and dtype {given.dtype}; expected matrices of floats. "
                f"Reshape it, or use tf.cast()."
            )
        try:
            return convert_to_tensor(getattr(given.__array_namespace__().linalg, function)(given))
        except np.linalg.LinAlgError as error:
            raise InvalidArgumentError(
                f"{label}() got a matrix without a result ({error}); expected another."
            ) from error

    label = apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = f"Apply {name} to matrices."
    return operation(apply)


# name = (documented name, function of arrays)
cholesky = _of_matrices("cholesky", "cholesky")
det = _of_matrices("det", "det")
inv = _of_matrices("inv", "inv")


@operation
def trace(x: Any, name: Any = None) -> Any:
    """The sum along the diagonal of matrices."""
    return reduce_sum(diag_part(x), -1)


@operation
def matvec(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: Any = None,
) -> Any:
    """Multiply matrices by vectors."""
    return matmul(a, convert_to_tensor(b)[..., None], transpose_a=transpose_a, adjoint_a=adjoint_a)[..., 0]


@operation
def matrix_transpose(a: Any, name: str = "matrix_transpose", conjugate: bool = False) -> Any:
    """Exchange the rows and the columns of matrices."""
    given = convert_to_tensor(a)
    turned = given.__array_namespace__().swapaxes(given, -1, -2)
    return turned.conj() if conjugate else turned


def adjoint(matrix: Any, name: Any = None) -> Any:
    """Exchange the rows and the columns of matrices, and take the conjugate of their elements."""
    return matrix_transpose(matrix, conjugate=True)


@operation
def diag(diagonal: Any, name: str = "diag", k: Any = 0, **others: Any) -> Any:
    """Make matrices that have vectors on their diagonals."""
    if k or others:
        raise InvalidArgumentError(f"diag() got k={k} and {sorted(others)}; expected the main diagonal. Use tf.pad().")
    given = convert_to_tensor(diagonal)
    return given[..., None] * np.eye(given.shape[-1], dtype=given.dtype)


@operation
def diag_part(input: Any, name: str = "diag_part", k: Any = 0, **others: Any) -> Any:
    """The diagonals of matrices."""
    if others:
        raise InvalidArgumentError(f"diag_part() got {sorted(others)}; expected k alone. Leave them out.")
    given = convert_to_tensor(input)
    return given.__array_namespace__().diagonal(given, offset=int(k), axis1=-2, axis2=-1)


@operation
def set_diag(input: Any, diagonal: Any, name: str = "set_diag") -> Any:
    """Replace the diagonals of matrices."""
    given, new = convert_to_tensor(input), convert_to_tensor(diagonal)
    rows, columns = given.shape[-2:]
    wide = given.__array_namespace__().pad(new, [(0, 0)] * (new.ndim - 1) + [(0, rows - new.shape[-1])])
    return given.__array_namespace__().where(np.eye(rows, columns, dtype=bool), wide[..., None], given)


@operation
def band_part(input: Any, num_lower: Any, num_upper: Any, name: Any = None) -> Any:
    """Replace what is too far from the diagonal by zero; a negative distance keeps all."""
    given = convert_to_tensor(input)
    behind = np.arange(given.shape[-1]) - np.arange(given.shape[-2])[:, None]
    lower, upper = int(num_lower), int(num_upper)
    kept = ((-behind <= lower) | (lower < 0)) & ((behind <= upper) | (upper < 0))
    return given.__array_namespace__().where(kept, given, given.__array_namespace__().zeros_like(given))


@operation
def solve(matrix: Any, rhs: Any, adjoint: bool = False, name: Any = None) -> Any:
    """Find what matrices have to be multiplied by to give the right-hand side."""
    given = matrix_transpose(matrix, conjugate=True) if adjoint else convert_to_tensor(matrix)
    try:
        return convert_to_tensor(given.__array_namespace__().linalg.solve(given, convert_to_tensor(rhs)))
    except np.linalg.LinAlgError as error:
        raise InvalidArgumentError(
            "solve() got a matrix without an inverse; expected another. Add to its diagonal."
        ) from error


@operation
def qr(input: Any, full_matrices: bool = False, name: Any = None) -> tuple[Any, Any]:
    """Write matrices as a product of an orthogonal and a triangular one."""
    given = convert_to_tensor(input)
    mode = "complete" if full_matrices else "reduced"
    first, second = given.__array_namespace__().linalg.qr(given, mode=mode)
    return convert_to_tensor(first), convert_to_tensor(second)


@operation
def svd(tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: Any = None) -> Any:
    """The singular values of matrices, and the vectors that belong to them."""
    given = convert_to_tensor(tensor)
    decompose = given.__array_namespace__().linalg.svd
    if not compute_uv:
        return convert_to_tensor(decompose(given, compute_uv=False))
    left, values, right = decompose(given, full_matrices=full_matrices)
    return convert_to_tensor(values), convert_to_tensor(left), matrix_transpose(convert_to_tensor(right))


@operation
def eigh(tensor: Any, name: Any = None) -> tuple[Any, Any]:
    """The eigenvalues of symmetric matrices, and the vectors that belong to them."""
    given = convert_to_tensor(tensor)
    values, vectors = given.__array_namespace__().linalg.eigh(given)
    return convert_to_tensor(values), convert_to_tensor(vectors)


@operation
def norm(tensor: Any, ord: Any = "euclidean", axis: Any = None, keepdims: bool = False, name: Any = None) -> Any:
    """The length of vectors: of the whole tensor, or along one axis; or that of matrices along two, by their squares."""
    given = convert_to_tensor(tensor)
    if ord in ("euclidean", "fro") or (ord == 2 and not (isinstance(axis, (list, tuple)) and len(axis) == 2)):
        return sqrt(reduce_sum(_squares(given), axis, keepdims))
    if isinstance(axis, (list, tuple)) and len(axis) == 2:
        raise InvalidArgumentError(
            f"norm() got ord={ord!r} for matrices; expected 'euclidean'. Use tf.linalg.svd() for others."
        )
    if ord == 1:
        return reduce_sum(abs(given), axis, keepdims)
    if ord == np.inf:
        return reduce_max(abs(given), axis, keepdims)
    if not isinstance(ord, (int, float)) or ord <= 0:
        raise ValueError(f"norm() got ord={ord!r}; expected a positive number, or 'euclidean'. Use one of these.")
    return reduce_sum(abs(given) ** ord, axis, keepdims) ** (1 / ord)


@operation
def reduce_euclidean_norm(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: Any = None) -> Any:
    """The root of the sum of squares."""
    return sqrt(reduce_sum(_squares(convert_to_tensor(input_tensor)), axis, keepdims))


@operation
def normalize(tensor: Any, ord: Any = "euclidean", axis: Any = None, name: Any = None) -> tuple[Any, Any]:
    """Divide a tensor by its length, and return both."""
    given = convert_to_tensor(tensor)
    length = norm(given, ord, axis, keepdims=True)
    return given / length, length


@operation
def cross(a: Any, b: Any, name: Any = None) -> Any:
    """The vectors that are perpendicular to pairs of vectors."""
    first = convert_to_tensor(a)
    return first.__array_namespace__().cross(first, convert_to_tensor(b))


@operation
def einsum(equation: str, *inputs: Any, **options: Any) -> Any:
    """Multiply tensors, and add up along the indices that the equation drops."""
    given = [convert_to_tensor(one) for one in inputs]
    return convert_to_tensor(_arrays_of(given).einsum(equation.replace(" ", ""), *given).astype(given[0].dtype))


@operation
def tensordot(a: Any, b: Any, axes: Any, name: Any = None) -> Any:
    """Multiply two tensors, and add up along axes: the last and first ones, or those named."""
    given = [convert_to_tensor(a), convert_to_tensor(b)]
    along = np.asarray(axes).tolist()
    return convert_to_tensor(_arrays_of(given).tensordot(*given, axes=along).astype(given[0].dtype))


def global_norm(t_list: Sequence[Any], name: Any = None) -> Any:
    """The length of all tensors together; None stands for no tensor."""
    squares = [reduce_sum(_squares(_values(one))) for one in t_list if one is not None]
    return sqrt(functools.reduce(operator.add, squares))


def clip_by_global_norm(
    t_list: Sequence[Any], clip_norm: Any, use_norm: Any = None, name: Any = None
) -> tuple[list[Any], Any]:
    """Make tensors shorter by one factor, so that all of them together have at most a length."""
    length = global_norm(t_list) if use_norm is None else convert_to_tensor(use_norm)
    limit = convert_to_tensor(clip_norm, None if hasattr(clip_norm, "dtype") else length.dtype)
    factor = limit / maximum(length, limit) + (length - length)  # no number where the length is none

    def clipped(one: Any) -> Any:
        if isinstance(one, IndexedSlices):
            return IndexedSlices(clipped(one.values), one.indices, one.dense_shape)
        return one if one is None else convert_to_tensor(one) * cast(factor, convert_to_tensor(one).dtype)

    return [clipped(one) for one in t_list], length


@operation
def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: Any = None) -> Any:
    """Make a tensor shorter, so that it has at most a length; of slices, the length is that of their values."""
    if isinstance(t, IndexedSlices):
        return IndexedSlices(clip_by_norm(t.values, clip_norm, axes), t.indices, t.dense_shape)
    given = convert_to_tensor(t)
    length = sqrt(reduce_sum(_squares(given), axes, keepdims=True))
    return given * clip_norm / maximum(length, clip_norm)


@operation
def polyval(coeffs: Sequence[Any], x: Any, name: Any = None) -> Any:
    """The value of a polynomial, whose highest coefficient comes first."""
    given = convert_to_tensor(x)
    return functools.reduce(lambda total, one: total * given + one, coeffs, given * 0)


def _values(one: Any) -> Any:
    return convert_to_tensor(one.values if isinstance(one, IndexedSlices) else one)


def _arrays_of(tensors: Sequence[Any]) -> Any:
    return tensors[0].__array_namespace__()


def _squares(tensor: Any) -> Any:
    """The squares of the sizes of numbers, complex ones too."""
    return tensor * conj(tensor) if tensor.dtype.kind == "c" else square(tensor)
