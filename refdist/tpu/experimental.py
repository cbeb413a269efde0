"""`tf.tpu.experimental`: the TPU system, and which of its cores each replica gets."""

from refdist.topology import DeviceAssignment, DeviceOrderMode, Topology
from refdist.tpu_system import initialize_tpu_system, shutdown_tpu_system

__all__ = ["DeviceAssignment", "DeviceOrderMode", "Topology", "initialize_tpu_system", "shutdown_tpu_system"]
