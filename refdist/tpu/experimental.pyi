from refdist._core.clusters.tpu_system import (
    initialize_tpu_system as initialize_tpu_system,
    shutdown_tpu_system as shutdown_tpu_system,
)
from refdist._core.devices.tpu_topology import (
    DeviceAssignment as DeviceAssignment,
    DeviceOrderMode as DeviceOrderMode,
    Topology as Topology,
)

__all__ = ["DeviceAssignment", "DeviceOrderMode", "Topology", "initialize_tpu_system", "shutdown_tpu_system"]
