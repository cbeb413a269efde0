"""Lists of the physical and logical devices."""

from collections.abc import Sequence
from typing import NamedTuple

from refdist._core.backends.choosing import current, make_virtual_cpus, physical_devices, unused, virtual_cpus
from refdist._core.devices.device import Device, LogicalDevice, PhysicalDevice
from refdist._core.seam.backend import host_device


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """List the devices of this machine in the backend in use, optionally of one kind.

    >>> import refdist as tf
    >>> with tf.using("host", gpus=1):
    ...     tf.config.list_physical_devices("GPU")
    [PhysicalDevice(name='/physical_device:GPU:0', device_type='GPU')]
    """
    hidden = range(1, virtual_cpus() or 1)  # those which the program has made of the first
    return [
        PhysicalDevice(f"/physical_device:{device.short}", device.kind)
        for device in physical_devices()
        if device_type in (None, device.kind)
        and _local(device)
        and not (device.kind == "CPU" and device.number in hidden)
    ]


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """List all devices under the names that strategies take."""
    return [
        LogicalDevice(f"/device:{device.short}" if _local(device) else str(device), device.kind)
        for device in current().devices()
        if device_type in (None, device.kind)
    ]


class LogicalDeviceConfiguration(NamedTuple):
    """One of the logical devices that are made of a physical one."""

    memory_limit: int | None = None
    experimental_priority: int | None = None
    experimental_device_ordinal: int | None = None


def set_logical_device_configuration(
    device: PhysicalDevice, logical_devices: Sequence[LogicalDeviceConfiguration] | None
) -> None:
    """Make several logical devices of the CPU, before the first use of a device."""
    require_physical(device)
    if device.device_type != "CPU":
        raise NotImplementedError(
            f"Logical devices were to be made of {device.name}; expected the CPU, because other devices are as many as the backend "
            f'has. Ask for more of them: refdist.use("simulator", gpus=8).'
        )
    wrong = [one for one in logical_devices or () if one.memory_limit is not None]
    if wrong:
        raise ValueError(
            f"A logical device of the CPU was to have memory_limit={wrong[0].memory_limit}; expected none. Leave it out."
        )
    make_virtual_cpus(len(logical_devices or ()) or 1)


def get_logical_device_configuration(device: PhysicalDevice) -> list[LogicalDeviceConfiguration] | None:
    """What the logical devices of a device were configured with; None where they were not."""
    require_physical(device)
    count = virtual_cpus() if device.device_type == "CPU" else None
    return None if count is None else [LogicalDeviceConfiguration()] * count


def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Accept that memory is to grow as needed, which it does here anyhow."""
    require_physical(device)
    if get_logical_device_configuration(device) is not None:
        raise ValueError(
            f"Memory growth was to be set for {device.name}, of which logical devices were made; expected one or the other. Leave "
            f"one out."
        )


def require_physical(device: PhysicalDevice, there: Sequence[PhysicalDevice] | None = None) -> None:
    """Raise unless a device is one of those of this machine, or of some of them."""
    if device not in (list_physical_devices() if there is None else there):
        raise ValueError(
            f"The device is {device!r}; expected one that tf.config.list_physical_devices() returns. Pass one of these."
        )


def _local(device: Device) -> bool:
    return device.beside(host_device(unused()))
