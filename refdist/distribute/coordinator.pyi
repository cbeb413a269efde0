from refdist._core.coordination.coordinator import (
    ClusterCoordinator as ClusterCoordinator,
    PerWorkerValues as PerWorkerValue,
    RemoteValue as RemoteValue,
    experimental_get_current_worker_index as experimental_get_current_worker_index,
)

__all__ = ["ClusterCoordinator", "PerWorkerValue", "RemoteValue", "experimental_get_current_worker_index"]
