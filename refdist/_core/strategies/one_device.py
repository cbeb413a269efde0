"""OneDeviceStrategy: everything on a single device."""

from typing import Any

from refdist._core.backends.choosing import current
from refdist._core.devices.device import DeviceName, resolve
from refdist._core.input.dataset import Dataset
from refdist._core.strategies.cross_device_ops import ReductionToOneDevice
from refdist._core.strategies.extended import EagerExtended
from refdist._core.strategies.plan import Plan
from refdist._core.strategies.strategy import Strategy
from refdist._core.variables.placement import Placement


def one_device_plan(name: DeviceName) -> Plan:
    """One replica on one device, where its variables live too."""
    backend = current()
    device = resolve(name, backend.devices())
    return Plan("one_device", backend, (device,), (device,), Placement.PLAIN, ReductionToOneDevice())


class OneDeviceStrategy(Strategy):
    """Run on a single device, to try a program before it is distributed."""

    def __init__(self, device: DeviceName) -> None:
        super().__init__(EagerExtended(one_device_plan(device)))

    def experimental_make_numpy_dataset(self, numpy_input: Any) -> Dataset:
        """Make a dataset of the rows of arrays; the page of this strategy does not call it deprecated."""
        return Dataset.from_tensor_slices(numpy_input)
