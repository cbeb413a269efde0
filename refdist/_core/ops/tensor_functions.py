"""The few tensor functions that strategy programs use, on the arrays of any backend."""

import builtins
import contextlib
import warnings
from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from refdist._core.base import convert
from refdist._core.base.jax_facts import is_jax
from refdist._core.base.where import HERE, entered
from refdist._core.devices.device import DeviceName, resolve_within
from refdist._core.replicas import context
from refdist._core.strategies.cross_device_ops import require_numbers
from refdist._core.strategies.logical_devices import stays
from refdist._core.variables.tensors import as_tensor, current_value, require_single
from refdist._core.variables.variable import Variable


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


def constant(value: Any, dtype: Any = None, shape: Any = None, name: Any = None) -> Any:
    """Make a tensor of a number, a nest of numbers, or an array."""
    tensor = convert_to_tensor(value, dtype)
    if shape is None or tuple(tensor.shape) == tuple(shape):
        return tensor
    return _fresh(np.broadcast_to(np.asarray(tensor), tuple(shape)) if tensor.size == 1 else np.reshape(tensor, shape))


def convert_to_tensor(value: Any, dtype: Any = None, name: Any = None) -> Any:
    """Convert a value to a tensor; a tensor is returned as it is."""
    value = current_value(value)
    require_single(value, "convert_to_tensor()")
    if is_jax(value):  # an array of JAX, or a tracer, which numpy cannot convert
        return value if dtype is None else value.astype(np.dtype(dtype))
    if _is_tensor(value):
        if dtype is not None and value.dtype != np.dtype(dtype):
            raise ValueError(
                f"A tensor of dtype {value.dtype} was to become one of {np.dtype(dtype)}; expected the same dtype. Use tf.cast()."
            )
        return value
    return as_tensor(context.backend(), value, HERE.get().device, dtype)


def identity(input: Any, name: Any = None) -> Any:
    """Make a tensor of equal value on the current device."""
    tensor = convert_to_tensor(input)
    here = HERE.get().device
    if HERE.get().draft is not None and is_jax(tensor):
        return tensor.copy()  # a new tensor, even if all replicas share the one that it copies
    return (
        tensor
        if here is None or not isinstance(tensor, context.backend().tensor_type) or stays(tensor)
        else context.backend().copy(tensor, here)
    )


def cast(x: Any, dtype: Any, name: Any = None) -> Any:
    """Change the dtype of a tensor; floats are truncated to integers."""
    draft = HERE.get().draft
    if draft is not None:
        draft.require_wide(np.dtype(dtype))
    tensor = convert_to_tensor(x)
    return tensor if tensor.dtype == np.dtype(dtype) else tensor.astype(np.dtype(dtype))


def range(start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: Any = None) -> Any:
    """Count from start up to limit, in the widest dtype of the arguments; Python integers are int32."""
    bounds = [convert.to_array(bound) for bound in ((0, start, delta) if limit is None else (start, limit, delta))]
    wide = dtype or max((bound.dtype for bound in bounds), key=lambda own: (own.kind == "f", own.itemsize))
    return _fresh(np.arange(*(bound.item() for bound in bounds), dtype=wide))


def ones(shape: Any, dtype: Any = np.float32, name: Any = None) -> Any:
    """Make a tensor of ones."""
    return _fresh(np.ones(_sizes(shape), np.dtype(dtype)))


def zeros(shape: Any, dtype: Any = np.float32, name: Any = None) -> Any:
    """Make a tensor of zeros."""
    return _fresh(np.zeros(_sizes(shape), np.dtype(dtype)))


def reduce_sum(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: Any = None) -> Any:
    """Add up a tensor, optionally along an axis, in its own dtype."""
    tensor = _numbers(input_tensor, axis)
    return tensor.sum(axis=_axis(axis), keepdims=keepdims, dtype=_wide(tensor.dtype)).astype(tensor.dtype)


def reduce_mean(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: Any = None) -> Any:
    """Average a tensor, optionally along an axis, in its own dtype."""
    tensor = _numbers(input_tensor, axis)
    if 0 in tensor.shape and _mean_of_nothing(tensor.shape, axis):
        total = reduce_sum(tensor, axis, keepdims)
        return total if tensor.dtype.kind in "iu" else total * np.array(np.nan, tensor.dtype)
    return tensor.mean(axis=_axis(axis), keepdims=keepdims, dtype=_wide(tensor.dtype)).astype(tensor.dtype)


def add(x: Any, y: Any, name: Any = None) -> Any:
    """Add two tensors."""
    return convert_to_tensor(x) + current_value(y)


def square(x: Any, name: Any = None) -> Any:
    """Multiply a tensor by itself."""
    tensor = convert_to_tensor(x)
    return tensor * tensor


def matmul(a: Any, b: Any, name: Any = None) -> Any:
    """Multiply two matrices, or two stacks of them."""
    return convert_to_tensor(a) @ convert_to_tensor(b)


def concat(values: Sequence[Any], axis: int, name: Any = None) -> Any:
    """Join tensors along an existing axis."""
    tensors = [convert_to_tensor(value) for value in values]
    return tensors[0].__array_namespace__().concat(tensors, axis=axis)


def stack(values: Sequence[Any], axis: int = 0, name: Any = None) -> Any:
    """Join tensors along a new axis."""
    tensors = [convert_to_tensor(value) for value in values]
    return tensors[0].__array_namespace__().stack(tensors, axis=axis)


def shape(input: Any, out_type: Any = np.int32, name: Any = None) -> Any:
    """Return the sizes of a tensor's dimensions, as a tensor."""
    return _fresh(np.array(convert_to_tensor(input).shape, np.dtype(out_type)))


def size(input: Any, out_type: Any = np.int32, name: Any = None) -> Any:
    """Return how many elements a tensor has, as a tensor."""
    return _fresh(np.array(convert_to_tensor(input).size, np.dtype(out_type)))


def py_func(func: Any, inp: Sequence[Any], Tout: Any, stateful: bool = True, name: Any = None) -> Any:  # noqa: N803
    """Call a Python function with numpy arrays, and make a tensor of what it returns."""
    result = func(*[np.asarray(convert_to_tensor(value))[()] for value in inp])
    return cast(convert_to_tensor(result), Tout)


def device_name(tensor: Any) -> str:
    """Return the documented name of a tensor's device, even for an array of JAX.

    >>> import refdist as tf
    >>> tf.device_name(tf.constant(1.0))
    '/job:localhost/replica:0/task:0/device:CPU:0'
    """
    return tensor.device if isinstance(tensor, Variable) else context.backend().device_of(tensor)


def _fresh(array: Any) -> Any:
    return context.backend().put(array, HERE.get().device)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, context.backend().tensor_type)


def _wide(dtype: Any) -> Any:
    """The dtype in which a sum is accumulated: sixteen bits are too few for many numbers."""
    return np.dtype("float32") if dtype.itemsize == 2 and dtype.kind not in "iu" else dtype


def _mean_of_nothing(shape: Sequence[int], axis: Any) -> bool:
    """Say whether an average is over no numbers, and warn if so, because its result is hardly what anybody wants."""
    axes = axis if isinstance(axis, (list, tuple)) else builtins.range(len(shape)) if axis is None else (axis,)
    if all(shape[one] for one in axes):
        return False
    replica = context.get_replica_context() if context.has_strategy() else None
    number = None if replica is None else replica.replica_id_in_sync_group
    where = (
        f" in replica {number} of {replica.num_replicas_in_sync}"
        if replica is not None and isinstance(number, int)
        else ""
    )
    warnings.warn(
        f"The mean of no numbers was taken{where}, of a tensor of shape {tuple(shape)}; expected at least one. It is nan, or 0 for "
        f"integers. Skip empty pieces, or divide a sum over all replicas by the number of all examples.",
        RuntimeWarning,
        stacklevel=3,
    )
    return True


def _numbers(value: Any, axis: Any) -> Any:
    """Convert a value that is to be reduced along an axis; numpy would silently accept a scalar, and JAX truth values."""
    tensor = convert_to_tensor(value)
    require_numbers(tensor.dtype)
    rank = len(tensor.shape)
    axes = axis if isinstance(axis, (list, tuple)) else () if axis is None else (axis,)
    if not all(-rank <= one < rank for one in axes):
        raise ValueError(
            f"A tensor of shape {tuple(tensor.shape)} was to be reduced along axis={axis!r}; expected dimensions from {-rank} to "
            f"{rank - 1}. Leave axis out to reduce all of them."
        )
    return tensor


def _axis(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list) else axis


def _sizes(shape: Any) -> tuple[int, ...]:
    return (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(int(size) for size in shape)
