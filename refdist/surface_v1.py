"""The v1 flavor of the strategies: what it adds, and what it relaxes."""

from collections.abc import Callable, Sequence
from typing import Any

from refdist.collectives import CrossDeviceOps
from refdist.enums import ReduceOp
from refdist.extended import StrategyExtended
from refdist.strategies.central_storage import central_storage_plan
from refdist.strategies.mirrored import mirrored_plan
from refdist.strategies.one_device import one_device_plan
from refdist.strategy import StrategyBase


class StrategyV1(StrategyBase):
    """A policy for spreading state and computation over a list of devices, in its v1 flavor."""

    def reduce(self, reduce_op: ReduceOp | str, value: Any, axis: Any = None) -> Any:
        """Combine a per-replica value over the replicas, and over an axis of each where one is given."""
        return self._reduce(reduce_op, value, axis)

    def experimental_run(self, fn: Callable[..., Any], input_iterator: Any = None) -> Any:
        """Run a function on each replica, with the next input of an iterator where one is given."""
        with self.scope():
            args = (input_iterator.get_next(),) if input_iterator is not None else ()
            return self.run(fn, args=args)


class OneDeviceStrategyV1(StrategyV1):
    """Run on a single device, to try a program before it is distributed."""

    def __init__(self, device: str) -> None:
        super().__init__(StrategyExtended(one_device_plan(device)))


class MirroredStrategyV1(StrategyV1):
    """Train in step on the devices of one machine."""

    def __init__(self, devices: Sequence[str] | None = None, cross_device_ops: CrossDeviceOps | None = None) -> None:
        super().__init__(StrategyExtended(mirrored_plan(devices, cross_device_ops)))


class CentralStorageStrategyV1(StrategyV1):
    """Compute on several devices, with all variables on one."""

    def __init__(self, compute_devices: Sequence[str] | None = None, parameter_device: str | None = None) -> None:
        super().__init__(StrategyExtended(central_storage_plan(compute_devices, parameter_device)))
