"""CentralStorageStrategy: computation on every device, variables on one."""

from collections.abc import Sequence

from refdist.backend import current, host_device
from refdist.collectives import ReductionToOneDevice
from refdist.device import resolve
from refdist.extended import StrategyExtended
from refdist.plan import Placement, Plan
from refdist.strategies.mirrored import chosen_devices
from refdist.strategy import Strategy


def central_storage_plan(compute_devices: Sequence[str] | None, parameter_device: str | None) -> Plan:
    """A replica on each device; variables on the given device, or the only GPU, or the CPU."""
    backend = current()
    devices = chosen_devices(compute_devices, backend)
    if parameter_device is not None:
        home = resolve(parameter_device, backend.devices())
    elif len(devices) == 1:
        home = devices[0]
    else:
        home = host_device(backend)
    return Plan("central_storage", backend, devices, (home,), Placement.CENTRAL, ReductionToOneDevice())


class CentralStorageStrategy(Strategy):
    """Compute on several devices, with all variables on one."""

    def __init__(self, compute_devices: Sequence[str] | None = None, parameter_device: str | None = None) -> None:
        super().__init__(StrategyExtended(central_storage_plan(compute_devices, parameter_device)))
