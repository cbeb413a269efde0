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
from refdist._core.ops.late_names import late_names as _late_names

_LATE = {
    "refdist._core.ops.machine_switches": """
        enable_op_determinism enable_tensor_float_32_execution get_device_details
        get_device_policy get_memory_growth get_memory_info get_synchronous_execution
        get_visible_devices set_device_policy set_synchronous_execution set_visible_devices
        tensor_float_32_execution_enabled
    """,
}
__getattr__, __dir__ = _late_names("config.experimental", globals(), _LATE)

__all__ = [
    "VirtualDeviceConfiguration",
    "get_virtual_device_configuration",
    "list_logical_devices",
    "list_physical_devices",
    "set_memory_growth",
    "set_virtual_device_configuration",
]
