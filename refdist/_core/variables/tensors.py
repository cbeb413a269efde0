"""Turns values into tensors: the only place that decides what becomes a tensor, and where it goes."""

from typing import Any, TypeVar

from refdist._core.base import convert
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
    """Make a tensor from a value on a device; an existing tensor is only moved.

    Args:
        device: where the tensor goes; None leaves a tensor where it is, and puts anything else on the host.
        dtype: of a new tensor; Python values that cannot be converted to it without loss are refused.
    """
    if isinstance(value, Readable):
        value = value.read_value()
    if isinstance(value, backend.tensor_type):
        return value if device is None or backend.device_of(value) == device else backend.copy(value, device)
    return backend.put(convert.to_array(value, dtype), device)


def require_single(value: Any, what: str) -> None:
    """Raise for a value with a component for each replica, where one tensor is needed."""
    if isinstance(value, DistributedValues):
        raise ValueError(
            f"{what} got a per-replica value, a {type(value).__name__}; expected a single one. Combine its components with "
            f"strategy.reduce(), or take them apart with experimental_local_results()."
        )
