"""`tf.config`: which devices there are, and how functions run."""

from refdist._core.clusters.tpu_system import experimental_connect_to_cluster
from refdist._core.devices.device import LogicalDevice, PhysicalDevice
from refdist._core.ops.device_listing import (
    LogicalDeviceConfiguration,
    get_logical_device_configuration,
    list_logical_devices,
    list_physical_devices,
    set_logical_device_configuration,
)
from refdist._core.ops.late_names import late_names as _late_names
from refdist._core.staging.eager_functions import functions_run_eagerly, run_functions_eagerly
from refdist._core.staging.eager_functions import functions_run_eagerly as experimental_functions_run_eagerly
from refdist._core.staging.eager_functions import run_functions_eagerly as experimental_run_functions_eagerly
from refdist.config import experimental, optimizer, threading

_LATE = {
    "refdist._core.ops.machine_switches": """
        get_soft_device_placement get_visible_devices set_soft_device_placement set_visible_devices
    """,
}
__getattr__, __dir__ = _late_names("config", globals(), _LATE)

__all__ = [
    "LogicalDevice",
    "LogicalDeviceConfiguration",
    "PhysicalDevice",
    "experimental",
    "experimental_connect_to_cluster",
    "experimental_functions_run_eagerly",
    "experimental_run_functions_eagerly",
    "functions_run_eagerly",
    "get_logical_device_configuration",
    "list_logical_devices",
    "list_physical_devices",
    "optimizer",
    "run_functions_eagerly",
    "set_logical_device_configuration",
    "threading",
]
