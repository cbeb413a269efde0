"""Lists of the physical and logical devices."""

from refdist._core.backends.choosing import current
from refdist._core.devices.device import Device, LogicalDevice, PhysicalDevice
from refdist._core.seam.backend import host_device


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """List the devices of this machine in the backend in use, optionally of one kind.

    >>> import refdist as tf
    >>> with tf.using("host", gpus=1):
    ...     tf.config.list_physical_devices("GPU")
    [PhysicalDevice(name='/physical_device:GPU:0', device_type='GPU')]
    """
    return [
        PhysicalDevice(f"/physical_device:{device.short}", device.kind)
        for device in current().devices()
        if device_type in (None, device.kind) and _local(device)
    ]


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """List all devices under the names that strategies take."""
    return [
        LogicalDevice(f"/device:{device.short}" if _local(device) else str(device), device.kind)
        for device in current().devices()
        if device_type in (None, device.kind)
    ]


def _local(device: Device) -> bool:
    return device.beside(host_device(current()))
