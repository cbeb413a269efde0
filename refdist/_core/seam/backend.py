"""The seam between the API and what computes: eight verbs that every backend has."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias

import numpy as np

from refdist._core.base.enums import ReduceOp
from refdist._core.devices.device import Device

Tensor: TypeAlias = Any
Tensors: TypeAlias = Sequence[Any]


class _Nowhere:
    """Enters and leaves nothing, as contextlib.nullcontext does, but by a method written in C: every call of a function does so."""

    __enter__: Any = "".format
    __exit__: Any = "".format  # takes anything, and returns what is false


NOWHERE: AbstractContextManager[Any] = _Nowhere()
"""What `Backend.on` returns if there is nothing to enter; replicas are then resumed without entering anything."""


class Backend(Protocol):
    """What every backend offers. A tensor is whatever the backend returns.

    What only some backends offer is a capability: see `seam/capabilities.py`.
    """

    name: str
    tensor_type: type

    def devices(self) -> tuple[Device, ...]:
        """List all devices, the host's CPU first."""
        ...

    def on(self, device: Device | None) -> AbstractContextManager[Any]:
        """Let the backend's own functions compute on a device; None means where they compute by default."""
        ...

    def put(self, array: Any, device: Device | None) -> Tensor:
        """Make a tensor from a numpy array on a device; None means the host, without tying the tensor to it."""
        ...

    def get(self, tensor: Tensor) -> np.ndarray[Any, Any]:
        """Bring a tensor's value to numpy."""
        ...

    def device_of(self, tensor: Tensor) -> Device:
        """Say where a tensor lies."""
        ...

    def copy(self, tensor: Tensor, device: Device) -> Tensor:
        """Bring a tensor to a device."""
        ...

    def reduce(self, tensors: Tensors, op: ReduceOp, destinations: Sequence[Device], algorithm: str) -> Tensors:
        """Combine tensors of one shape and dtype, in their order, and leave the result on each destination."""
        ...

    def gather(self, tensors: Tensors, axis: int, destinations: Sequence[Device]) -> Tensors:
        """Join tensors along an axis, in their order, and leave the result on each destination."""
        ...


def host_device(backend: Backend) -> Device:
    """The CPU to which results go by default."""
    return backend.devices()[0]
