"""The seam while a program is written."""

import functools
import operator
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from refdist._core.base.enums import ReduceOp
from refdist._core.base.where import HERE
from refdist._core.devices.device import Device
from refdist._core.seam.backend import NOWHERE, Backend, Tensors
from refdist._core.seam.capabilities import LogicalDevices, required


class DraftBackend:
    """The seam while a program is written: tensors are tracers, and all of them are the replica's own."""

    name = "staged"
    tensor_type: type = jax.Array

    def __init__(self, real: Backend, lay_out: Callable[..., Any], require_room: Callable[[Any], None]) -> None:
        self._real, self._lay_out, self._require_room = real, lay_out, require_room

    def devices(self) -> tuple[Device, ...]:
        return self._real.devices()

    def on(self, device: Device | None) -> AbstractContextManager[Any]:
        return NOWHERE

    def put(self, array: Any, device: Device | None) -> Any:
        if array.dtype.kind in "OSU":
            return array  # text takes no part in programs, but may pass through
        if isinstance(array, jax.Array):
            return array
        self._require_room(array)
        with jax.ensure_compile_time_eval():
            return jnp.asarray(np.array(array, copy=True))

    def get(self, tensor: jax.Array) -> np.ndarray[Any, Any]:
        return np.array(tensor, copy=True)  # raises JAX's own error, to which the user's line is added later

    def device_of(self, tensor: jax.Array) -> Device:
        return HERE.get().device or self._real.devices()[0]

    def copy(self, tensor: jax.Array, device: Device) -> jax.Array:
        return tensor

    def reduce(self, tensors: Tensors, op: ReduceOp, destinations: Sequence[Device], algorithm: str) -> Tensors:
        total = functools.reduce(operator.add, tensors)
        return [total / len(tensors) if op is ReduceOp.MEAN else total] * len(destinations)

    def gather(self, tensors: Tensors, axis: int, destinations: Sequence[Device]) -> Tensors:
        return [jnp.concatenate(tensors, axis=axis)] * len(destinations)

    def tpu_mesh(self) -> np.ndarray[Any, Any]:
        return required(self._real, LogicalDevices, "A TPU").tpu_mesh()

    def lay_out(self, tensor: jax.Array, devices: Sequence[Device], partition: Sequence[int] | None) -> jax.Array:
        return self._lay_out(tensor, devices, partition)

    def pieces(self, tensor: jax.Array) -> Any:
        raise TypeError(
            "logical_pieces() was called in a function; expected a call outside, because nothing lies anywhere before the program "
            "runs. Return the tensor, and ask there."
        )
