from refdist._core.coordination.coordinator import (
    ClusterCoordinator as ClusterCoordinator,
    PerWorkerValues as PerWorkerValues,
    RemoteValue as RemoteValue,
)

__all__ = ["ClusterCoordinator", "PerWorkerValues", "RemoteValue"]
