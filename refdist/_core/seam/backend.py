"""The seam between the API and what computes: eight verbs that every backend has."""

import contextlib
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias

import numpy as np

from refdist._core.base.enums import ReduceOp
from refdist._core.devices.device import Device

Tensor: TypeAlias = Any
Tensors: TypeAlias = Sequence[Any]

NOWHERE: AbstractContextManager[None] = contextlib.nullcontext()
"""What `Backend.on` returns where there is nothing to enter; replicas are then resumed without entering it."""


class Backend(Protocol):
    """What a place to compute has to offer. A tensor is whatever it returns.

    What only some backends have are capabilities: see `seam/capabilities.py`.
    """

    name: str
    tensor_type: type

    def devices(self) -> tuple[Device, ...]:
        """List all devices, the host's CPU first."""
        ...

    def on(self, device: Device | None) -> AbstractContextManager[Any]:
        """Let the backend's own functions compute on a device; None is where they compute by themselves."""
        ...

    def put(self, array: Any, device: Device | None) -> Tensor:
        """Make a tensor of a numpy array on a device; None is the host, without a claim to stay there."""
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
    """The CPU on which results arrive when nobody says where."""
    return backend.devices()[0]
