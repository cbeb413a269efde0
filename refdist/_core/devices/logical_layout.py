"""Tensors in pieces on several devices, for model parallelism."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from refdist._core.base.where import HERE
from refdist._core.devices.device import Device
from refdist._core.devices.tensor import Tensor


@dataclasses.dataclass(frozen=True, slots=True)
class Layout:
    """On which devices a tensor is placed: whole on each, or cut into one piece for each."""

    devices: tuple[Device, ...]
    partition: tuple[int, ...] | None  # into how many pieces each dimension is cut; None if it is whole
    shape: tuple[int, ...]
    placement: Device | None  # the device scope in which it holds: that of the replica

    def after(self, shape: tuple[int, ...]) -> "Layout":
        """Return the layout of an operation's result: cut in the same way if the shape is the same, otherwise whole."""
        if self.partition is None or shape == self.shape:
            return self
        return dataclasses.replace(self, partition=None)


class LaidOut(Tensor):
    """A tensor with a layout, which the results of operations inherit.

    It is a separate class so that ordinary tensors need not look for a layout at every operation.
    """

    __slots__ = ("given_layout",)
    given_layout: Layout | None  # from when it was made
    # So that an operation with an ordinary tensor also returns this class.
    __array_priority__ = 1.0  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]

    def __array_finalize__(self, source: Any) -> None:
        layout: Layout | None = getattr(source, "given_layout", None)
        here = HERE.get().device
        if layout is None or here not in (None, layout.placement):
            self.given_layout, self.lies_on = None, here or getattr(source, "lies_on", None)
        else:
            self.given_layout, self.lies_on = layout.after(self.shape), layout.devices[0]

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        # Functions such as concatenate keep the class, but drop its attributes.
        result = super().__array_function__(function, types, args, kwargs)
        forgotten = isinstance(result, LaidOut) and result.layout is None
        return self.like(np.asarray(result)) if forgotten else result

    def like(self, array: np.ndarray[Any, Any]) -> Tensor:
        result = array.view(LaidOut)
        result.__array_finalize__(self)
        result.flags.writeable = False
        return result

    @property
    def layout(self) -> Layout | None:
        """The layout, or None if another device scope has moved the tensor to a single device."""
        # Asked of the shape again, because numpy transposes a tensor only after it has been made.
        return None if self.given_layout is None else self.given_layout.after(self.shape)


def lay_out(tensor: Tensor, devices: Sequence[Device], partition: Sequence[int] | None) -> Tensor:
    """Label a tensor with a layout."""
    tensor.flags.writeable = False
    result = np.asarray(tensor).view(LaidOut)
    cut = None if partition is None else tuple(partition)
    result.given_layout = Layout(tuple(devices), cut, tensor.shape, HERE.get().device)
    result.lies_on = devices[0]
    return result


def pieces(tensor: Tensor, device: Device) -> tuple[tuple[Device, np.ndarray[Any, Any]], ...]:
    """Return each device with its piece of a tensor; without a layout, one device has the whole."""
    layout = tensor.layout if isinstance(tensor, LaidOut) else None
    whole = np.array(tensor)
    if layout is None:
        return ((device, whole),)
    if layout.partition is None:
        return tuple((one, whole.copy()) for one in layout.devices)
    return tuple(zip(layout.devices, cut(whole, layout.partition), strict=True))


def cut(array: np.ndarray[Any, Any], partition: Sequence[int]) -> list[np.ndarray[Any, Any]]:
    """Cut an array into so many equal pieces along each dimension, with the last dimension changing fastest.

    >>> cut(np.arange(4).reshape(2, 2), [2, 1])
    [array([[0, 1]]), array([[2, 3]])]
    """
    sizes = [size // count for size, count in zip(array.shape, partition, strict=True)]
    return [
        array[tuple(slice(index * size, (index + 1) * size) for index, size in zip(place, sizes, strict=True))].copy()
        for place in np.ndindex(*partition)
    ]
