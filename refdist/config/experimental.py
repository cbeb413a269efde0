"""`tf.config.experimental`."""

from refdist._core.ops.device_listing import (
    LogicalDeviceConfiguration as VirtualDeviceConfiguration,
)
from refdist._core.ops.device_listing import (
    get_logical_device_configuration as get_virtual_device_configuration,
)
from refdist._core.ops.device_listing import list_logical_devices, list_physical_devices, set_memory_growth
from refdist._core.ops.device_listing import (
    set_logical_device_configuration as set_virtual_device_configuration,
)
from refdist._core.ops.machine_switches import (
    enable_op_determinism,
    enable_tensor_float_32_execution,
    get_device_details,
    get_device_policy,
    get_memory_growth,
    get_memory_info,
    get_synchronous_execution,
    get_visible_devices,
    set_device_policy,
    set_synchronous_execution,
    set_visible_devices,
    tensor_float_32_execution_enabled,
)
from refdist._core.ops.missing_names import lacking as _lacking

__getattr__ = _lacking("config.experimental")

__all__ = [
    "VirtualDeviceConfiguration",
    "enable_op_determinism",
    "enable_tensor_float_32_execution",
    "get_device_details",
    "get_device_policy",
    "get_memory_growth",
    "get_memory_info",
    "get_synchronous_execution",
    "get_virtual_device_configuration",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "set_device_policy",
    "set_memory_growth",
    "set_synchronous_execution",
    "set_virtual_device_configuration",
    "set_visible_devices",
    "tensor_float_32_execution_enabled",
]
