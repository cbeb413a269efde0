"""The few tensor functions that strategy programs use, on the arrays of any backend."""

import builtins
import contextlib
import importlib
import warnings
from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from refdist._core.base import convert
from refdist._core.base.call_sites import call_site, frames_to_program, where
from refdist._core.base.dtypes import is_wide, numpy_dtype
from refdist._core.base.errors import InvalidArgumentError
from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.base.jax_facts import is_concrete, is_jax, is_tracer
from refdist._core.base.where import HERE, entered
from refdist._core.devices.device import DeviceName, resolve_within
from refdist._core.devices.tensor import make
from refdist._core.input.hungry_replicas import defers, remark_on
from refdist._core.ops.any_tensor import Tensor
from refdist._core.ops.integer_means import integer_mean
from refdist._core.ops.operation import operation
from refdist._core.replicas import context
from refdist._core.replicas.values import Mirrored
from refdist._core.seam.backend import host_device
from refdist._core.seam.capabilities import Commits, capability
from refdist._core.strategies.cross_device_ops import require_numbers
from refdist._core.strategies.logical_devices import stays
from refdist._core.variables.tensors import Readable, as_tensor, current_value, require_single
from refdist._core.variables.variable import Variable

_NUMBERS = frozenset({bool, int, float, complex, str, bytes})


@contextlib.contextmanager
def device(device_name: DeviceName | None) -> Generator[None]:
    """Put the tensors and variables made in a block on a device; None undoes an outer block.

    What a name leaves out, such as the device in "/job:ps/task:1", is as in the outer block.

    >>> import refdist as tf
    >>> with tf.using("host", gpus=1), tf.device("/gpu:0"):
    ...     tf.constant(1.0).device
    '/job:localhost/replica:0/task:0/device:GPU:0'
    """
    backend = context.backend()
    chosen = None if device_name is None else resolve_within(device_name, HERE.get().device, backend.devices())
    with entered(device=chosen), backend.on(chosen):
        yield


@operation
def constant(value: Any, dtype: Any = None, shape: Any = None, name: Any = None) -> Any:
    """Make a tensor of a number, a nest of numbers, or an array."""
    tensor = convert_to_tensor(value, dtype)
    sizes = tuple(tensor.shape) if shape is None else sizes_of(shape)
    if tuple(tensor.shape) == sizes:
        return tensor
    if is_jax(tensor):
        return tensor.__array_namespace__().broadcast_to(tensor, sizes) if tensor.size == 1 else tensor.reshape(sizes)
    return fresh(np.broadcast_to(np.asarray(tensor), sizes) if tensor.size == 1 else np.reshape(tensor, sizes))


@operation
def convert_to_tensor(value: Any, dtype: Any = None, name: Any = None) -> Any:
    """Convert a value to a tensor; a tensor is returned as it is."""
    value = value.nearest() if isinstance(value, Mirrored) else current_value(value)
    require_single(value, "convert_to_tensor()")
    tapes = HERE.get().tapes
    return _converted(value, dtype) if tapes is None else tapes.tensor(_converted(tapes.tensor(value), dtype))


def _converted(value: Any, dtype: Any) -> Any:
    if is_jax(value):  # an array of JAX, or a tracer, which numpy cannot convert
        return value if dtype is None else value.astype(numpy_dtype(dtype))
    if _is_tensor(value):
        if dtype is not None and value.dtype != numpy_dtype(dtype):
            raise ValueError(
                f"A tensor of dtype {value.dtype} was to become {numpy_dtype(dtype)}; expected the same dtype. Use tf.cast()."
            )
        return value
    if isinstance(value, (list, tuple)) and (own := _dtype_inside(value)) is not None:
        packed = _packed(value, own)
        return packed if dtype is None or packed.dtype == numpy_dtype(dtype) else packed.astype(numpy_dtype(dtype))
    try:
        return as_tensor(context.backend(), value, HERE.get().device, dtype)
    except TypeError:
        may_be_text = HERE.get().draft is None and (dtype is None or numpy_dtype(dtype).kind == "O")
        array = convert.to_array(value) if may_be_text else np.empty(0)
        if array.dtype.kind != "O":
            raise
        return make(array, "CPU:0")  # text stays on the host, where a backend has no arrays of it


@operation
def identity(input: Any, name: Any = None) -> Any:
    """Make a tensor of equal value on the current device; slices stay slices."""
    if isinstance(input, IndexedSlices):
        return input.mapped(identity)
    tensor = convert_to_tensor(input)
    here = HERE.get().device
    if HERE.get().draft is not None and is_jax(tensor):
        return tensor.copy()  # a new tensor, even if all replicas share the one that it copies
    if here is None or not _is_tensor(tensor) or stays(tensor):
        return tensor
    return context.backend().copy(tensor, here)


@operation
def cast(x: Any, dtype: Any, name: Any = None) -> Any:
    """Change the dtype of a tensor; floats are truncated to integers."""
    draft = HERE.get().draft
    if draft is not None:
        draft.require_wide(numpy_dtype(dtype))
    tensor = with_room_for(convert_to_tensor(x), numpy_dtype(dtype))
    if tensor.dtype.kind == "c" and numpy_dtype(dtype).kind not in "cb":
        tensor = tensor.real  # as in TensorFlow, where nothing is said either
    return tensor if tensor.dtype == numpy_dtype(dtype) else tensor.astype(numpy_dtype(dtype))


@operation
def range(start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: Any = None) -> Any:
    """Count from start up to limit, in the widest dtype of the arguments; Python integers are int32."""
    given = [current_value(bound) for bound in ((0, start, delta) if limit is None else (start, limit, delta))]
    if HERE.get().draft is not None and any(map(is_tracer, given)):
        return importlib.import_module("refdist._core.autograph.ranges").SymbolicRange(*given, dtype=dtype)
    bounds = [convert.to_array(bound) for bound in given]
    wide = (
        numpy_dtype(dtype)
        if dtype is not None
        else max((bound.dtype for bound in bounds), key=lambda own: (own.kind == "f", own.itemsize))
    )
    return fresh(np.arange(*(bound.item() for bound in bounds), dtype=wide))


@operation
def ones(shape: Any, dtype: Any = np.float32, name: Any = None) -> Any:
    """Make a tensor of ones."""
    return fresh(np.ones(sizes_of(shape), numpy_dtype(dtype)))


@operation
def zeros(shape: Any, dtype: Any = np.float32, name: Any = None) -> Any:
    """Make a tensor of zeros."""
    return fresh(np.zeros(sizes_of(shape), numpy_dtype(dtype)))


@operation
def reduce_sum(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: Any = None) -> Any:
    """Add up a tensor, optionally along an axis, in its own dtype."""
    tensor = _numbers(input_tensor, axis)
    return tensor.sum(axis=_axis(axis), keepdims=keepdims, dtype=_wide(tensor.dtype)).astype(tensor.dtype)


@operation
def reduce_mean(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: Any = None) -> Any:
    """Average a tensor, optionally along an axis, in its own dtype."""
    tensor = _numbers(input_tensor, axis)
    if 0 in tensor.shape and _mean_of_nothing(tensor.shape, axis, integers=tensor.dtype.kind in "iu"):
        total = reduce_sum(tensor, axis, keepdims)
        return total if tensor.dtype.kind in "iu" else total * np.array(np.nan, tensor.dtype)
    if tensor.dtype.kind in "iu":
        return integer_mean(tensor, _axis(axis), keepdims)
    return tensor.mean(axis=_axis(axis), keepdims=keepdims, dtype=_wide(tensor.dtype)).astype(tensor.dtype)


@operation
def add(x: Any, y: Any, name: Any = None) -> Any:
    """Add two tensors."""
    first, second = together(convert_to_tensor(x), y.nearest() if isinstance(y, Mirrored) else current_value(y))
    return first + second


@operation
def square(x: Any, name: Any = None) -> Any:
    """Multiply a tensor by itself."""
    tensor = convert_to_tensor(x)
    require_numbers(tensor.dtype)
    return tensor * tensor


@operation
def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: Any = None,
    name: Any = None,
) -> Any:
    """Multiply two matrices, or two stacks of them."""
    first, second = together(convert_to_tensor(a), convert_to_tensor(b))
    if transpose_a or adjoint_a:
        first = first.__array_namespace__().swapaxes(first.conj() if adjoint_a else first, -1, -2)
    if transpose_b or adjoint_b:
        second = second.__array_namespace__().swapaxes(second.conj() if adjoint_b else second, -1, -2)
    product = first @ second
    return product if output_type is None else cast(product, output_type)


@operation
def concat(values: Sequence[Any], axis: int, name: Any = None) -> Any:
    """Join tensors along an existing axis."""
    tensors = together(*map(convert_to_tensor, values))
    return tensors[0].__array_namespace__().concat(tensors, axis=axis)


@operation
def stack(values: Sequence[Any], axis: int = 0, name: Any = None) -> Any:
    """Join tensors along a new axis."""
    tensors = together(*map(convert_to_tensor, values))
    return tensors[0].__array_namespace__().stack(tensors, axis=axis)


@operation
def shape(input: Any, out_type: Any = np.int32, name: Any = None) -> Any:
    """Return the sizes of a tensor's dimensions, as a tensor."""
    tensor = convert_to_tensor(input)
    dtype, xp = numpy_dtype(out_type), tensor.__array_namespace__()
    if all(isinstance(one, int) for one in tensor.shape):
        return _size(tensor.shape, tensor, dtype)
    # While a program is written for any size, a size is known only to the program.
    return xp.stack([xp.asarray(one, dtype=dtype) for one in tensor.shape])


@operation
def size(input: Any, out_type: Any = np.int32, name: Any = None) -> Any:
    """Return how many elements a tensor has, as a tensor."""
    tensor, dtype = convert_to_tensor(input), numpy_dtype(out_type)
    if isinstance(tensor.size, int):
        return _size(tensor.size, tensor, dtype)
    return tensor.__array_namespace__().asarray(tensor.size, dtype=dtype)


def _size(known: Any, tensor: Any, dtype: Any) -> Any:
    """A size as a tensor; in a trace that is not ours it stays numpy's, because JAX would forget its value in the next step."""
    number = np.array(known, dtype)
    return number[()] if is_tracer(tensor) and HERE.get().draft is None else fresh(number)


def device_name(tensor: Any) -> str:
    """Return the documented name of a tensor's device, even for an array of JAX.

    >>> import refdist as tf
    >>> tf.device_name(tf.constant(1.0))
    '/job:localhost/replica:0/task:0/device:CPU:0'
    """
    return tensor.device if isinstance(tensor, Variable) else context.backend().device_of(tensor)


def _dtype_inside(values: Sequence[Any]) -> Any:
    """The dtype of the first tensor in lists of tensors and numbers, which the numbers take too; None without tensors."""
    if set(map(type, values)) <= _NUMBERS:
        return None
    for value in values:
        if _is_tensor(value) or is_jax(value) or isinstance(value, Readable):
            return current_value(value).dtype
        inside = _dtype_inside(value) if isinstance(value, (list, tuple)) else None
        if inside is not None:
            return inside
    return None


def _packed(values: Any, dtype: Any) -> Any:
    """Make one tensor of lists of tensors and numbers."""
    if isinstance(values, (list, tuple)) and _dtype_inside(values) is not None:
        parts = [_packed(value, dtype) for value in values]
        if len({tuple(part.shape) for part in parts}) > 1:
            raise ValueError(
                f"Tensors of the shapes {[tuple(part.shape) for part in parts]} were to become one; expected equal shapes. "
                f"Use tf.concat() for pieces of different lengths."
            )
        return stack(parts)
    if isinstance(values, (np.generic, np.ndarray)) and not _is_tensor(values):
        values = np.asarray(values).astype(dtype)
    tensor = convert_to_tensor(values, None if is_jax(values) else dtype)
    if tensor.dtype != dtype:
        raise ValueError(
            f"Tensors of the dtypes {dtype} and {tensor.dtype} were to become one; expected one dtype. Use tf.cast()."
        )
    return tensor


def together(*operands: Any) -> tuple[Any, ...]:
    """The operands of an operation on one device: arrays of JAX that are tied to different ones are brought to the current one."""
    backend = context.backend()
    if capability(backend, Commits) is None:
        return operands
    places = {frozenset(one.devices()) for one in operands if is_concrete(one) and one.committed}
    if len(places) < 2 or any(len(devices) > 1 for devices in places):
        return operands
    here = HERE.get().device or host_device(backend)
    return tuple(backend.copy(one, here) if is_concrete(one) else one for one in operands)


def fresh(array: Any) -> Any:
    return context.backend().put(array, HERE.get().device)


def with_room_for(tensor: Any, dtype: np.dtype[Any]) -> Any:
    """A tensor that can take a dtype: JAX, in which Keras computes eagerly on any backend, would cut 64 bits to 32."""
    where = HERE.get()
    cut = where.draft is None and is_wide(dtype) and is_concrete(tensor) and not _is_tensor(tensor)
    if not cut or (where.tapes is not None and dtype.kind not in "iu"):  # a tape would not follow it out of JAX
        return tensor
    return fresh(np.asarray(tensor))


def _is_tensor(value: Any) -> bool:
    return isinstance(value, context.backend().tensor_type)


def is_tensor(x: Any) -> bool:
    """Say whether a value is a tensor: of the simulator or of JAX, or a variable.

    >>> import refdist as tf
    >>> tf.is_tensor(tf.constant(1.0)), tf.is_tensor(tf.Variable(1.0)), tf.is_tensor(np.ones(2))
    (True, True, False)
    """
    return isinstance(x, (Tensor, Readable, Mirrored))


def _wide(dtype: Any) -> Any:
    """The dtype in which a sum is accumulated: sixteen bits are too few for many numbers."""
    return np.dtype("float32") if dtype.itemsize == 2 and dtype.kind not in "iu" else dtype


def _mean_of_nothing(shape: Sequence[int], axis: Any, *, integers: bool) -> bool:
    """Say whether an average is over no numbers, and warn if so, because its result is hardly what anybody wants."""
    axis = _axis(axis)
    axes = axis if isinstance(axis, tuple) else builtins.range(len(shape)) if axis is None else (axis,)
    if all(shape[one] for one in axes):
        return False
    replica = context.get_replica_context() if context.has_strategy() else None
    number = None if replica is None else replica.replica_id_in_sync_group
    if replica is not None and not integers and defers(replica.local_index, where(call_site()[:1])):
        return True  # it is nan, which is told where it leaves the replica
    who = (
        f" in replica {number} of {replica.num_replicas_in_sync}{remark_on(replica.local_index)},"
        if replica is not None and isinstance(number, int)
        else ""
    )
    warnings.warn(
        f"The mean of no numbers was taken{who} at {where(call_site()[:1])}, of a tensor of shape {tuple(shape)}; expected at "
        f"least one. It is nan, or 0 for integers. Skip empty pieces, or divide a sum over all replicas by the number of all "
        f"examples.",
        RuntimeWarning,
        stacklevel=frames_to_program(),
    )
    return True


def _numbers(value: Any, axis: Any) -> Any:
    """Convert a value that is to be reduced along an axis; numpy would silently accept a scalar, and JAX truth values."""
    tensor = convert_to_tensor(value)
    require_numbers(tensor.dtype)
    reduced(tensor, axis)
    return tensor


def reduced(tensor: Any, axis: Any) -> Any:
    """The dimensions along which a tensor is reduced, as arrays take them, or an error if it does not have them."""
    rank, axis = len(tensor.shape), _axis(axis)
    axes = axis if isinstance(axis, tuple) else () if axis is None else (axis,)
    if not all(-rank <= one < rank for one in axes):
        raise InvalidArgumentError(
            f"A tensor of shape {tuple(tensor.shape)} was to be reduced along axis={axis!r}; expected dimensions from {-rank} to "
            f"{rank - 1}. Leave axis out to reduce all of them."
        )
    return axis


def _axis(axis: Any) -> Any:
    if isinstance(axis, (list, tuple)):
        return tuple(int(one) for one in axis)
    return tuple(axis.tolist()) if np.ndim(axis) else axis if axis is None else int(axis)


def sizes_of(shape: Any) -> tuple[int, ...]:
    if isinstance(shape, int) or getattr(shape, "ndim", 1) == 0:  # also a scalar tensor
        return (int(shape),)
    return tuple(int(size) for size in shape)
