"""`tf.tpu.experimental`: the TPU system, and which of its cores each replica gets."""

from refdist._core.clusters.tpu_system import initialize_tpu_system, shutdown_tpu_system
from refdist._core.devices.tpu_topology import DeviceAssignment, DeviceOrderMode, Topology

__all__ = ["DeviceAssignment", "DeviceOrderMode", "Topology", "initialize_tpu_system", "shutdown_tpu_system"]
