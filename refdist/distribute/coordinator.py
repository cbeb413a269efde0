"""`tf.distribute.coordinator`."""

from refdist._core.coordination.coordinator import (
    ClusterCoordinator,
    RemoteValue,
    experimental_get_current_worker_index,
)
from refdist._core.coordination.coordinator import PerWorkerValues as PerWorkerValue
from refdist._core.ops.missing_names import lacking as _lacking

__getattr__ = _lacking("distribute.coordinator")

__all__ = ["ClusterCoordinator", "PerWorkerValue", "RemoteValue", "experimental_get_current_worker_index"]
