"""Operations that arrange elements: shapes, pieces, choices."""

import builtins
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from refdist._core.base.dtypes import numpy_dtype
from refdist._core.base.errors import DtypeError, InvalidArgumentError, UnimplementedError
from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.base.jax_facts import is_jax
from refdist._core.base.where import HERE, entered
from refdist._core.ops.operation import operation
from refdist._core.ops.operation_table import beside, maximum, minimum, pair, require
from refdist._core.ops.tensor_functions import (
    cast,
    constant,
    convert_to_tensor,
    fresh,
    sizes_of,
    together,
    with_room_for,
)
from refdist._core.seam.draft import leave_draft_for_shape


@operation
def zeros_like(input: Any, dtype: Any = None, name: Any = None) -> Any:
    """Make a tensor of zeros, or of empty strings, of the shape of another."""
    return _like(input, dtype, "zeros_like", b"")


@operation
def ones_like(input: Any, dtype: Any = None, name: Any = None) -> Any:
    """Make a tensor of ones of the shape of another."""
    return _like(input, dtype, "ones_like", None)


@operation
def fill(dims: Any, value: Any, name: Any = None) -> Any:
    """Make a tensor of one value."""
    tensor = convert_to_tensor(value)
    if tensor.shape:
        raise InvalidArgumentError(
            f"fill() got a value of shape {tuple(tensor.shape)}; expected a scalar. Use tf.tile() to repeat a tensor."
        )
    return constant(tensor, shape=dims)


@operation
def eye(
    num_rows: Any, num_columns: Any = None, batch_shape: Any = None, dtype: Any = np.float32, name: Any = None
) -> Any:
    """Make a matrix with ones on its diagonal, or a batch of them."""
    one = np.eye(int(num_rows), None if num_columns is None else int(num_columns), dtype=numpy_dtype(dtype))
    return fresh(one if batch_shape is None else np.array(np.broadcast_to(one, (*sizes_of(batch_shape), *one.shape))))


@operation
def linspace(start: Any, stop: Any, num: Any, name: Any = None, axis: int = 0) -> Any:
    """Make numbers at equal distances, both ends included; integers become float64."""
    first, last = pair(start, stop, "linspace")
    if first.dtype.kind in "iu" and not (
        is_jax(first) and HERE.get().draft is None
    ):  # JAX knows how wide its floats are
        first, last = cast(first, np.float64), cast(last, np.float64)
    if is_jax(first):
        return first.__array_namespace__().linspace(first, last, int(num), axis=axis)
    return first.like(np.linspace(np.asarray(first), np.asarray(last), int(num), axis=axis).astype(first.dtype))


@operation
def reshape(tensor: Any, shape: Any, name: Any = None) -> Any:
    """Arrange the elements of a tensor in another shape, of which one size may be -1."""
    given, sizes = convert_to_tensor(tensor), sizes_of(shape)
    known = math.prod(size for size in sizes if size != -1)
    fits = given.size % known == 0 if -1 in sizes and known else given.size == known
    if sizes.count(-1) > 1 or not fits:
        raise InvalidArgumentError(
            f"A tensor of shape {tuple(given.shape)} was to have the shape {sizes}; expected the same number of elements, "
            f"{given.size}. Give other sizes, or -1 for one of them."
        )
    return given.reshape(sizes)


@operation
def expand_dims(input: Any, axis: Any, name: Any = None) -> Any:
    """Give a tensor a dimension of size 1."""
    tensor = convert_to_tensor(input)
    return tensor.__array_namespace__().expand_dims(tensor, axis=inside(axis, len(tensor.shape) + 1, "expand_dims"))


@operation
def squeeze(input: Any, axis: Any = None, name: Any = None) -> Any:
    """Take dimensions of size 1 away: all of them, or those of an axis."""
    tensor = convert_to_tensor(input)
    axes = axis if axis is None else tuple(int(one) for one in np.atleast_1d(axis))
    if axes is not None and any(tensor.shape[inside(one, len(tensor.shape), "squeeze")] != 1 for one in axes):
        raise InvalidArgumentError(
            f"squeeze() got axis={axis!r} for a tensor of shape {tuple(tensor.shape)}; expected dimensions of size 1. Name these."
        )
    return convert_to_tensor(tensor.__array_namespace__().squeeze(tensor, axis=axes))


@operation
def transpose(a: Any, perm: Any = None, conjugate: bool = False, name: Any = None) -> Any:
    """Put the dimensions of a tensor in another order: that of perm, or the reverse."""
    tensor = convert_to_tensor(a)
    turned = tensor.transpose(None if perm is None else tuple(int(one) for one in perm))
    return turned.conj() if conjugate else turned


@operation
def rank(input: Any, name: Any = None) -> Any:
    """Return how many dimensions a tensor has, as a tensor."""
    return fresh(np.array(len(convert_to_tensor(input).shape), np.int32))


@operation
def tile(input: Any, multiples: Any, name: Any = None) -> Any:
    """Repeat a tensor along each of its dimensions."""
    tensor, counts = convert_to_tensor(input), sizes_of(multiples)
    if len(counts) != len(tensor.shape):
        raise InvalidArgumentError(
            f"tile() got multiples={counts} for a tensor of shape {tuple(tensor.shape)}; expected one for each dimension. Write 1 "
            f"for those that stay."
        )
    return tensor.__array_namespace__().tile(tensor, counts)


@operation
def pad(tensor: Any, paddings: Any, mode: str = "CONSTANT", constant_values: Any = 0, name: Any = None) -> Any:
    """Surround a tensor by a value, or by a reflection of itself."""
    given, modes = convert_to_tensor(tensor), {"CONSTANT", "REFLECT", "SYMMETRIC"}
    if mode.upper() not in modes:
        raise ValueError(f"pad() got mode={mode!r}; expected one of {sorted(modes)}. Use one of these.")
    widths = [tuple(int(width) for width in both) for both in paddings]
    options = {"constant_values": constant_values} if mode.upper() == "CONSTANT" else {}
    return given.__array_namespace__().pad(given, widths, mode=mode.lower(), **options)


@operation
def split(value: Any, num_or_size_splits: Any, axis: Any = 0, num: Any = None, name: Any = None) -> list[Any]:
    """Cut a tensor into equal parts, or into parts of given sizes, of which one may be -1."""
    tensor = convert_to_tensor(value)
    place = inside(axis, len(tensor.shape), "split")
    length = tensor.shape[place]
    sizes = np.asarray(num_or_size_splits).tolist()
    if not isinstance(sizes, list):
        sizes = [length // sizes] * sizes if sizes > 0 else []
    elif -1 in sizes:
        sizes[sizes.index(-1)] = length - builtins.sum(size for size in sizes if size != -1)
    if builtins.sum(sizes) != length or any(size < 0 for size in sizes):
        raise InvalidArgumentError(
            f"split() got {num_or_size_splits!r} for a dimension of size {length}; expected a divisor, or sizes that add up to it. "
            f"Write -1 for the size of one part."
        )
    return list(tensor.__array_namespace__().split(tensor, np.cumsum(sizes)[:-1].tolist(), axis=place))


@operation
def unstack(value: Any, num: Any = None, axis: Any = 0, name: Any = None) -> list[Any]:
    """List the tensors that lie along a dimension."""
    tensor = convert_to_tensor(value)
    moved = tensor.__array_namespace__().moveaxis(tensor, inside(axis, len(tensor.shape), "unstack"), 0)
    if num is not None and num != moved.shape[0]:
        raise ValueError(f"unstack() got num={num} for {moved.shape[0]} tensors; expected as many. Leave num out.")
    return [moved[index] for index in builtins.range(moved.shape[0])]


@operation
def add_n(inputs: Sequence[Any], name: Any = None) -> Any:
    """Add tensors of one shape."""
    tensors = together(*map(convert_to_tensor, inputs))
    if len({(tuple(one.shape), one.dtype) for one in tensors}) != 1:
        raise InvalidArgumentError(
            f"add_n() got tensors {[(tuple(one.shape), one.dtype) for one in tensors]}; expected at least one, of one shape and "
            f"dtype. Use + to broadcast."
        )
    total = tensors[0]
    for tensor in tensors[1:]:
        total = total + tensor
    return total


@operation
def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: Any = None) -> Any:
    """Bring each element between two limits."""
    return maximum(minimum(t, clip_value_max), clip_value_min)


@operation
def where(condition: Any, x: Any = None, y: Any = None, name: Any = None) -> Any:
    """Choose from two tensors element by element; without these, list the indices of what is true."""
    choice = convert_to_tensor(condition)
    if (x is None) != (y is None):
        raise ValueError("where() got one of x and y; expected both, or none. Pass the other one.")
    if x is None:
        leave_draft_for_shape(choice, "where() got a condition alone", "Pass x and y.")
        return whole(choice.__array_namespace__().argwhere(choice), np.int64)
    if choice.dtype.kind != "b":
        raise DtypeError(f"where() got a condition of dtype {choice.dtype}; expected bool. Compare it with something.")
    if type(x) is int and type(y) is float:
        x = float(x)
    choice, first, second = together(choice, *pair(x, y, "where"))
    return choice.__array_namespace__().where(choice, first, second)


@operation
def argmax(input: Any, axis: Any = None, output_type: Any = np.int64, name: Any = None) -> Any:
    """Find where the largest element is along an axis, the first one by default."""
    return _arg("argmax", input, axis, output_type)


@operation
def argmin(input: Any, axis: Any = None, output_type: Any = np.int64, name: Any = None) -> Any:
    """Find where the smallest element is along an axis, the first one by default."""
    return _arg("argmin", input, axis, output_type)


@operation
def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: Any = None,
    dtype: Any = None,
    name: Any = None,
) -> Any:
    """Write each index as a row of zeros with a one at that place; an index beyond the row has none."""
    places = convert_to_tensor(indices)
    kind = numpy_dtype(dtype) if dtype is not None else _dtype_of(on_value, off_value)
    on, off = beside(1 if on_value is None else on_value, kind), beside(0 if off_value is None else off_value, kind)
    arrays = places.__array_namespace__()
    rows = arrays.expand_dims(places, axis=-1) == np.arange(int(depth), dtype=places.dtype)
    made = arrays.where(rows, on, off)
    return made if axis in (None, -1) else arrays.moveaxis(made, -1, axis)


@operation
def gather(
    params: Any, indices: Any, validate_indices: Any = None, axis: Any = None, batch_dims: int = 0, name: Any = None
) -> Any:
    """Take the slices at indices along an axis."""
    tensor, places = together(convert_to_tensor(params), convert_to_tensor(indices))
    place = inside(batch_dims if axis is None else axis, len(tensor.shape), "gather")
    require_indices(places, tensor.shape[place], "gather")
    if not batch_dims:
        tapes = HERE.get().tapes
        if tapes is not None and place == 0:
            return tapes.carried_out(
                lambda rows: rows.__array_namespace__().take(rows, places, axis=0),
                tensor,
                lambda given: _slices_of(given, places, tensor.shape),
            )
        return convert_to_tensor(tensor.__array_namespace__().take(tensor, places, axis=place))
    if place != batch_dims or batch_dims < 0:
        raise UnimplementedError(
            f"gather() got axis={axis} and batch_dims={batch_dims}; expected an axis right behind the batches. Transpose first."
        )
    batches = np.indices(tensor.shape[:batch_dims]).reshape(
        batch_dims, *tensor.shape[:batch_dims], *[1] * (places.ndim - batch_dims)
    )
    return tensor[(*batches, places)]


def _slices_of(gradient: Any, places: Any, shape: Sequence[int]) -> IndexedSlices:
    """The gradient with respect to the rows that were taken, which says nothing about the others."""
    return IndexedSlices(gradient.reshape(-1, *shape[1:]), places.reshape(-1), np.array(shape, np.int32))


def require_indices(indices: Any, count: int, name: str) -> None:
    """Refuse indices beyond the end; a program that is being written will refuse those which it does not know yet."""
    text = f"{name}() got indices beyond 0 to {count - 1}; expected others. Correct them."
    require(((indices >= 0) & (indices < count)).all(), text)


def _like(input: Any, dtype: Any, name: str, text: Any) -> Any:
    tensor = convert_to_tensor(input)
    kind = tensor.dtype if dtype is None else numpy_dtype(dtype)
    if kind.kind == "O":
        if text is None:
            raise DtypeError(f"{name}() got text; expected numbers. Use tf.fill().")
        return fresh(np.full(tensor.shape, text, object))
    tensor = with_room_for(tensor, kind)
    return getattr(tensor.__array_namespace__(), name)(tensor, dtype=kind)


def _arg(name: str, input: Any, axis: Any, output_type: Any) -> Any:
    tensor = convert_to_tensor(input)
    place = inside(0 if axis is None else axis, len(tensor.shape), name)
    return whole(getattr(tensor.__array_namespace__(), name)(tensor, axis=place), output_type)


def whole(result: Any, output_type: Any) -> Any:
    """Indices in a dtype; JAX has no room for 64 bits unless it is told so, and then they are as wide as it has."""
    dtype, draft = numpy_dtype(output_type), HERE.get().draft
    if draft is not None:
        draft.require_wide(dtype)
    result = with_room_for(result, dtype)
    if is_jax(result) and dtype.itemsize == 8:
        return result
    with entered(tapes=None):  # which would make an array of JAX of it, and do not follow integers
        return convert_to_tensor(result.astype(dtype))


def inside(axis: Any, rank: int, name: str) -> int:
    """The number of a dimension, counted from the front."""
    if not -rank <= int(axis) < rank:
        raise InvalidArgumentError(
            f"{name}() got axis={axis!r}; expected a dimension from {-rank} to {rank - 1}. Name one of these."
        )
    return int(axis) % rank


def _dtype_of(on_value: Any, off_value: Any) -> np.dtype[Any]:
    given = [one for one in (on_value, off_value) if one is not None]
    return convert_to_tensor(given[0]).dtype if given else np.dtype(np.float32)
