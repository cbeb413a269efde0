"""Turns values into tensors: the only place that decides what becomes a tensor, and where it goes."""

from typing import Any, TypeVar

import numpy as np

from refdist._core.base import convert
from refdist._core.base.call_sites import call_site, where
from refdist._core.base.dtypes import numpy_dtype
from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.base.jax_facts import is_tracer
from refdist._core.base.where import HERE
from refdist._core.devices.device import Device
from refdist._core.replicas.values import DistributedValues
from refdist._core.seam.backend import Backend

Leaf = TypeVar("Leaf")


class Readable:
    """Something that has a tensor as its current value: a variable."""

    def read_value(self) -> Any:
        """The current value."""
        raise NotImplementedError


def current_value(value: Any) -> Any:
    """The value of a variable; anything else is returned as it is."""
    return value.read_value() if isinstance(value, Readable) else value


def as_tensor(backend: Backend, value: Any, device: Device | None, dtype: Any = None) -> Any:
    """Make a tensor from a value on a device; an existing tensor is only moved, and slices become the whole tensor.

    Args:
        device: where the tensor goes; None leaves a tensor where it is, and puts anything else on the host.
        dtype: of a new tensor; Python values that cannot be converted to it without loss are refused.
    """
    if isinstance(value, Readable):
        value = value.read_value()
    if isinstance(value, IndexedSlices):
        value = _whole(backend, value, dtype)
    if isinstance(value, backend.tensor_type):
        return value if device is None or backend.device_of(value) == device else backend.copy(value, device)
    return new_tensor(backend, value, device, dtype)


def initial_tensor(backend: Backend, device: Device, value: Any, dtype: Any) -> Any:
    """What a new variable begins with: a copy of a tensor of its dtype, or a new tensor."""
    value = current_value(value)
    require_single(value, "Variable()")
    if isinstance(value, backend.tensor_type) and (dtype is None or value.dtype == numpy_dtype(dtype)):
        return backend.copy(value, device)
    return new_tensor(backend, value, device, dtype)


def new_tensor(backend: Backend, value: Any, device: Device | None = None, dtype: Any = None) -> Any:
    """Make a tensor from the numbers or texts of a value, also where it is a tensor already: of another backend or dtype."""
    return backend.put(convert.to_array(value, dtype), device)


def _whole(backend: Backend, slices: IndexedSlices, dtype: Any) -> Any:
    """The tensor that slices are parts of: zero where there is none, and the sum where there are several."""
    if slices.dense_shape is None or is_tracer(slices.dense_shape):
        raise ValueError(
            f"{slices} was to become a tensor; expected slices whose dense_shape is known before a program runs. Make them with "
            f"tf.IndexedSlices(values, indices, dense_shape=[...])."
        )
    values, indices = (as_tensor(backend, part, None) for part in (slices.values, slices.indices))
    if dtype is not None and values.dtype != np.dtype(dtype):
        raise ValueError(
            f"IndexedSlices of {values.dtype} were to become a tensor of {np.dtype(dtype)}; expected the same dtype. Convert "
            f"their values with tf.cast()."
        )
    shape: tuple[int, ...] = tuple(np.asarray(slices.dense_shape).tolist())
    text = f"IndexedSlices have indices beyond the {shape[0]} rows of the whole; expected 0 to {shape[0] - 1}. Correct them."
    if is_tracer(values) or is_tracer(indices):
        draft, traced = HERE.get().draft, values if is_tracer(values) else indices
        if draft is not None:
            draft.require(((indices >= 0) & (indices < shape[0])).all(), ValueError, text)
        return traced.__array_namespace__().zeros(shape, values.dtype).at[indices].add(values)
    whole, at = np.zeros(shape, values.dtype), np.asarray(indices)
    if at.size and not (0 <= at.min() and at.max() < shape[0]):
        raise ValueError(text)
    np.add.at(whole, at, np.asarray(values))
    return backend.put(whole, backend.device_of(values))


def require_single(value: Any, what: str) -> None:
    """Raise for a value with a component for each replica, where one tensor is needed."""
    if isinstance(value, DistributedValues):
        raise ValueError(
            f"{what} got a per-replica value, with {value.count} components, at {where(call_site()[:1])}; expected a single one. "
            f"Combine its components with strategy.reduce(), or take them apart with experimental_local_results()."
        )
