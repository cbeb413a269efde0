"""`tf.distribute.coordinator`."""

from refdist._core.coordination.coordinator import (
    ClusterCoordinator,
    RemoteValue,
    experimental_get_current_worker_index,
)
from refdist._core.coordination.coordinator import PerWorkerValues as PerWorkerValue

__all__ = ["ClusterCoordinator", "PerWorkerValue", "RemoteValue", "experimental_get_current_worker_index"]
