"""A tensor in pieces on several devices, as model parallelism has it."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from refdist._core.base.where import HERE
from refdist._core.devices.device import Device
from refdist._core.devices.tensor import Tensor


@dataclasses.dataclass(frozen=True, slots=True)
class Layout:
    """On which devices a tensor of some shape lies: whole on each, or cut into a piece for each."""

    devices: tuple[Device, ...]
    partition: tuple[int, ...] | None  # into how many pieces each dimension is cut; None is whole
    shape: tuple[int, ...]
    placement: Device | None  # the device scope in which it holds: that of the replica

    def after(self, shape: tuple[int, ...]) -> "Layout":
        """The layout of what an operation makes of the tensor: cut in the same way where the shape is the same."""
        if self.partition is None or shape == self.shape:
            return self
        return dataclasses.replace(self, partition=None)


class LaidOut(Tensor):
    """A tensor that has a layout, which the results of operations take over.

    It is a class of its own so that ordinary tensors need not look for a layout at every operation.
    """

    __slots__ = ("_layout",)
    _layout: Layout | None
    # So that numpy makes one of it of an operation with an ordinary tensor.
    __array_priority__ = 1.0  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]

    def __array_finalize__(self, source: Any) -> None:
        layout: Layout | None = getattr(source, "_layout", None)
        here = HERE.get().device
        if layout is None or here not in (None, layout.placement):
            self._layout, self._device = None, here or getattr(source, "_device", None)
        else:
            self._layout, self._device = layout.after(self.shape), layout.devices[0]

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        # Functions such as concatenate keep the class, but forget what it knows.
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
        """How the tensor lies; None where another device scope has brought it to one device."""
        # Asked of the shape again: numpy transposes a tensor only after it has been made.
        return None if self._layout is None else self._layout.after(self.shape)


def lay_out(tensor: Tensor, devices: Sequence[Device], partition: Sequence[int] | None) -> Tensor:
    """Label a tensor with a layout."""
    tensor.flags.writeable = False
    result = np.asarray(tensor).view(LaidOut)
    cut = None if partition is None else tuple(partition)
    result._layout = Layout(tuple(devices), cut, tensor.shape, HERE.get().device)  # pyright: ignore[reportPrivateUsage]
    result._device = devices[0]  # pyright: ignore[reportPrivateUsage]
    return result


def pieces(tensor: Tensor, device: Device) -> tuple[tuple[Device, np.ndarray[Any, Any]], ...]:
    """What of a tensor lies where; without a layout it is whole, on one device."""
    layout = tensor.layout if isinstance(tensor, LaidOut) else None
    whole = np.array(tensor)
    if layout is None:
        return ((device, whole),)
    if layout.partition is None:
        return tuple((one, whole.copy()) for one in layout.devices)
    return tuple(zip(layout.devices, cut(whole, layout.partition), strict=True))


def cut(array: np.ndarray[Any, Any], partition: Sequence[int]) -> list[np.ndarray[Any, Any]]:
    """Cut an array into so many equal pieces along each dimension, the last dimension changing fastest.

    >>> cut(np.arange(4).reshape(2, 2), [2, 1])
    [array([[0, 1]]), array([[2, 3]])]
    """
    sizes = [size // count for size, count in zip(array.shape, partition, strict=True)]
    return [
        array[tuple(slice(index * size, (index + 1) * size) for index, size in zip(place, sizes, strict=True))].copy()
        for place in np.ndindex(*partition)
    ]
