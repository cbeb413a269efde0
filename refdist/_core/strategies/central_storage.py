"""CentralStorageStrategy: computation on every device, variables on one."""

from collections.abc import Sequence

from refdist._core.backends.choosing import current
from refdist._core.devices.device import DeviceName, resolve
from refdist._core.seam.backend import host_device
from refdist._core.strategies.cross_device_ops import ReductionToOneDevice
from refdist._core.strategies.extended import EagerExtended
from refdist._core.strategies.mirrored import chosen_devices
from refdist._core.strategies.plan import Plan
from refdist._core.strategies.strategy import Strategy
from refdist._core.variables.placement import Placement


def central_storage_plan(compute_devices: Sequence[DeviceName] | None, parameter_device: DeviceName | None) -> Plan:
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

    def __init__(
        self, compute_devices: Sequence[DeviceName] | None = None, parameter_device: DeviceName | None = None
    ) -> None:
        super().__init__(EagerExtended(central_storage_plan(compute_devices, parameter_device)))
