"""OneDeviceStrategy: everything on a single device."""

from refdist.backend import current
from refdist.collectives import ReductionToOneDevice
from refdist.device import resolve
from refdist.extended import StrategyExtended
from refdist.plan import Placement, Plan
from refdist.strategy import Strategy


def one_device_plan(name: str) -> Plan:
    """One replica on one device, where its variables live too."""
    backend = current()
    device = resolve(name, backend.devices())
    return Plan("one_device", backend, (device,), (device,), Placement.PLAIN, ReductionToOneDevice())


class OneDeviceStrategy(Strategy):
    """Run on a single device, to try a program before it is distributed."""

    def __init__(self, device: str) -> None:
        super().__init__(StrategyExtended(one_device_plan(device)))
