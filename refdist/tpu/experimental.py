"""`tf.tpu.experimental`: the TPU system, and which of its cores each replica gets."""

from refdist._core.clusters.tpu_system import initialize_tpu_system, shutdown_tpu_system
from refdist._core.devices.tpu_topology import DeviceAssignment, DeviceOrderMode, Topology
from refdist._core.ops.missing_names import lacking as _lacking

__getattr__ = _lacking("tpu.experimental")

__all__ = ["DeviceAssignment", "DeviceOrderMode", "Topology", "initialize_tpu_system", "shutdown_tpu_system"]
