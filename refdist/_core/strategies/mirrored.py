"""MirroredStrategy: synchronous training on the devices of one machine."""

import warnings
from collections.abc import Collection, Sequence

from refdist._core.backends.choosing import current
from refdist._core.devices.device import Device, DeviceName, PhysicalDevice, resolve_all
from refdist._core.seam.backend import Backend, host_device
from refdist._core.strategies.cross_device_ops import CrossDeviceOps, NcclAllReduce
from refdist._core.strategies.extended import EagerExtended
from refdist._core.strategies.plan import Plan
from refdist._core.strategies.strategy import Strategy
from refdist._core.variables.placement import Placement


def mirrored_plan(names: Sequence[DeviceName] | None, cross_device_ops: CrossDeviceOps | None) -> Plan:
    """A replica, and a copy of every variable, on each device."""
    if cross_device_ops is not None and not isinstance(cross_device_ops, CrossDeviceOps):
        raise TypeError(
            f"MirroredStrategy() got cross_device_ops={cross_device_ops!r}; expected an instance of a class derived from "
            f"tf.distribute.CrossDeviceOps. Leave it out, or use tf.distribute.ReductionToOneDevice()."
        )
    backend = current()
    devices = chosen_devices(names, backend)
    if not names:
        _warn_of_idle_cpus(devices[0], backend)
    return Plan("mirrored", backend, devices, devices, Placement.MIRRORED, cross_device_ops or NcclAllReduce())


def chosen_devices(names: Sequence[DeviceName] | None, backend: Backend) -> tuple[Device, ...]:
    """The named devices, each once; or all GPUs; or, where there is none, the CPU."""
    if isinstance(names, (str, PhysicalDevice)):
        raise ValueError(f"The devices are {names!r}; expected a list of names. Write [{names!r}].")
    if names is not None and (not isinstance(names, Collection) or hasattr(names, "__array__")):
        raise TypeError(
            f"The devices are {names!r}, a {type(names).__name__}; expected a list of names. Write ['GPU:0', 'GPU:1']."
        )
    if not names:
        host = host_device(backend)
        return tuple(d for d in backend.devices() if d.kind == "GPU" and d.beside(host)) or (host,)
    devices = resolve_all(list(names), backend.devices())
    twice = sorted({device.short for device in devices if devices.count(device) > 1}) if _repeats(devices) else []
    if twice:
        raise ValueError(
            f"The devices name {', '.join(twice)} more than once; expected each device once. Drop the repetition."
        )
    return devices


def _warn_of_idle_cpus(first: Device, backend: Backend) -> None:
    """Say that one CPU is used, as documented, where somebody who has asked for several may have expected all."""
    cpus = [device.short for device in backend.devices() if device.kind == "CPU" and device.beside(first)]
    if first.kind == "CPU" and len(cpus) > 1:
        named = ", ".join(f'"{name}"' for name in cpus[:4]) + (", ..." if len(cpus) > 4 else "")
        warnings.warn(
            f"MirroredStrategy() was given no devices and there is no GPU, so it has one replica, on {first.short}, and leaves the "
            f"other {len(cpus) - 1} CPUs idle. Name the devices to use them: MirroredStrategy([{named}]).",
            UserWarning,
            stacklevel=4,
        )


def _repeats(devices: tuple[Device, ...]) -> bool:
    return len(set(devices)) < len(devices)


class MirroredStrategy(Strategy):
    """Train in step on the devices of one machine."""

    def __init__(
        self, devices: Sequence[DeviceName] | None = None, cross_device_ops: CrossDeviceOps | None = None
    ) -> None:
        super().__init__(EagerExtended(mirrored_plan(devices, cross_device_ops)))
