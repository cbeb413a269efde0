from refdist._core.clusters.tpu_system import experimental_connect_to_cluster as experimental_connect_to_cluster
from refdist._core.devices.device import LogicalDevice as LogicalDevice, PhysicalDevice as PhysicalDevice
from refdist._core.ops.device_listing import (
    LogicalDeviceConfiguration as LogicalDeviceConfiguration,
    get_logical_device_configuration as get_logical_device_configuration,
    list_logical_devices as list_logical_devices,
    list_physical_devices as list_physical_devices,
    set_logical_device_configuration as set_logical_device_configuration,
)
from refdist._core.ops.machine_switches import (
    get_soft_device_placement as get_soft_device_placement,
    get_visible_devices as get_visible_devices,
    set_soft_device_placement as set_soft_device_placement,
    set_visible_devices as set_visible_devices,
)
from refdist._core.staging.eager_functions import (
    functions_run_eagerly as experimental_functions_run_eagerly,
    run_functions_eagerly as experimental_run_functions_eagerly,
    functions_run_eagerly as functions_run_eagerly,
    run_functions_eagerly as run_functions_eagerly,
)
from refdist.config import experimental as experimental, optimizer as optimizer, threading as threading

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
    "get_soft_device_placement",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "optimizer",
    "run_functions_eagerly",
    "set_logical_device_configuration",
    "set_soft_device_placement",
    "set_visible_devices",
    "threading",
]
