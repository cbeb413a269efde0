"""`tf.distribute.experimental.coordinator`, the older place of the coordinator."""

from refdist._core.coordination.coordinator import ClusterCoordinator, PerWorkerValues, RemoteValue

__all__ = ["ClusterCoordinator", "PerWorkerValues", "RemoteValue"]
