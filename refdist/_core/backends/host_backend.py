"""The smallest backend, and the oracle for the others: numpy arrays that carry a device label."""

import copy
import importlib
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Self

import numpy as np

from refdist._core.base.common_values import CommonValues, once
from refdist._core.base.enums import ReduceOp
from refdist._core.devices.device import Device
from refdist._core.devices.logical_layout import lay_out, pieces
from refdist._core.devices.machine import device_counts
from refdist._core.devices.tensor import Tensor, labelled, make, mean_dtype
from refdist._core.devices.tpu_topology import mesh_shape
from refdist._core.seam.backend import NOWHERE, Tensors

_LARGE_BYTES = 1 << 18  # of all tensors in a sum together; from this size on, there are faster ways than numpy's


class HostBackend:
    """Numpy on devices that exist in name only.

    Args:
        counts: how many devices there are of each kind: cpus, gpus, tpus.
    """

    name = "host"
    tensor_type: type = Tensor

    def __init__(self, **counts: Any) -> None:
        self._devices = device_counts(**counts)
        self._mesh = mesh_shape(counts.get("tpus", 0))

    def devices(self) -> tuple[Device, ...]:
        return self._devices

    def on(self, device: Device | None) -> AbstractContextManager[Any]:
        return NOWHERE

    def put(self, array: Any, device: Device | None) -> Tensor:
        value = np.asarray(array)
        return make(value if _unchangeable(value) else np.array(value, copy=True), device or self._devices[0])

    def get(self, tensor: Tensor) -> np.ndarray[Any, Any]:
        return np.array(tensor, copy=True)

    def device_of(self, tensor: Tensor) -> Device:
        return tensor.lies_on or self._devices[0]

    def copy(self, tensor: Tensor, device: Device) -> Tensor:
        # From now on the numbers are shared, so nobody may change them; a copy elsewhere is only another label.
        tensor.flags.writeable = False
        return make(tensor, device)

    def spread(self, tensor: Tensor, devices: Sequence[Device]) -> list[Tensor]:
        return labelled(tensor, devices)

    def reduce(self, tensors: Tensors, op: ReduceOp, destinations: Sequence[Device], algorithm: str) -> Tensors:
        if type(tensors) is not CommonValues:
            return labelled(self._combined(tensors, op), destinations)
        return labelled(once(tensors, op, lambda: self._combined(tensors, op)), destinations)

    def gather(self, tensors: Tensors, axis: int, destinations: Sequence[Device]) -> Tensors:
        def joined() -> np.ndarray[Any, Any]:
            return np.concatenate([np.asarray(tensor) for tensor in tensors], axis=axis)

        return labelled(once(tensors, axis, joined), destinations)

    def tpu_mesh(self) -> np.ndarray[Any, Any]:
        cores = [device for device in self._devices if device.kind == "TPU"]
        return np.array(cores, object).reshape(self._mesh if cores else (0,))

    def lay_out(self, tensor: Any, devices: Sequence[Device], partition: Sequence[int] | None) -> Any:
        # A value that is being traced has no numbers yet, and is on no device.
        return lay_out(tensor, devices, partition) if isinstance(tensor, Tensor) else tensor

    def pieces(self, tensor: Tensor) -> tuple[tuple[Device, np.ndarray[Any, Any]], ...]:
        return pieces(tensor, self.device_of(tensor))

    def for_task(self, job: str, task: int, tasks: int) -> Self:
        clone = copy.copy(self)
        # A worker has the devices of one machine, so TPU hosts elsewhere are left out.
        clone._devices = tuple(device.at(job, task) for device in self._devices if device.job == self._devices[0].job)
        clone.__dict__.pop("default_strategy", None)
        return clone

    def connect(self, devices: Sequence[Device]) -> None:
        self._devices = tuple(dict.fromkeys([*self._devices, *devices]))

    def compiler(self, plan: Any) -> Any:
        return importlib.import_module("refdist._core.compilers.batch_compiler").BatchCompiler(plan)

    def _combined(self, tensors: Tensors, op: ReduceOp) -> np.ndarray[Any, Any]:
        total = self.fold(tensors)
        return mean(total, len(tensors)) if op is ReduceOp.MEAN else total

    def fold(self, tensors: Tensors) -> np.ndarray[Any, Any]:
        """Add tensors one after the other, each sum rounded to their dtype."""
        first = tensors[0]
        if first.ndim == 0:
            return _sum_of_scalars(tensors)
        return _sum_of(tensors) if first.nbytes * len(tensors) < _LARGE_BYTES else self.fold_large(tensors)

    def fold_large(self, tensors: Tensors) -> np.ndarray[Any, Any]:
        """Add large tensors, with the same bits as the result; a backend with something faster than numpy uses it here."""
        return _sum_of(tensors)


def _sum_of_scalars(tensors: Tensors) -> np.ndarray[Any, Any]:
    dtype = tensors[0].dtype
    stacked = np.array([tensor.item() for tensor in tensors], dtype=dtype)
    # accumulate rounds after each addition; sum would add in pairs. A device does not warn about an overflow.
    with np.errstate(all="ignore"):
        return np.asarray(np.add.accumulate(stacked, dtype=dtype)[-1], dtype=dtype)


def _sum_of(tensors: Tensors) -> np.ndarray[Any, Any]:
    if len(tensors) == 1:
        return np.array(tensors[0], copy=True, order="C")
    with np.errstate(all="ignore"):
        total = np.add(np.asarray(tensors[0]), np.asarray(tensors[1]), order="C")
        for tensor in tensors[2:]:
            np.add(total, np.asarray(tensor), out=total)
    return total


def _unchangeable(array: np.ndarray[Any, Any]) -> bool:
    """Say whether an array can no longer be changed by anybody, so that it need not be copied."""
    if array.flags.writeable:
        return False
    base = array.base
    return base is None or (isinstance(base, np.ndarray) and base.base is None and not base.flags.writeable)


def mean(total: np.ndarray[Any, Any], count: int) -> np.ndarray[Any, Any]:
    """Divide a sum by a count in the sum's own dtype; integers become float64, and narrow ones float32.

    >>> mean(np.array(7), 2)
    array(3.5)
    """
    if total.dtype.kind in "biu":
        return np.asarray(np.true_divide(total, count, dtype=mean_dtype(total.dtype)))
    divisor = np.asarray(count).astype(total.dtype)
    if total.dtype.itemsize <= 2 and float(divisor) != count:
        # Narrow floats cannot represent the count: it would become another number, or infinite.
        return np.asarray(np.divide(total.astype(np.float64), count).astype(total.dtype))
    return np.asarray(np.divide(total, divisor))
