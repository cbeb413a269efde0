"""`tf.config`: which devices there are."""

from refdist._core.clusters.tpu_system import experimental_connect_to_cluster
from refdist._core.devices.device import LogicalDevice, PhysicalDevice
from refdist._core.ops.device_listing import list_logical_devices, list_physical_devices

__all__ = [
    "LogicalDevice",
    "PhysicalDevice",
    "experimental_connect_to_cluster",
    "list_logical_devices",
    "list_physical_devices",
]
