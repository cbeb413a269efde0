"""`tf.distribute`: strategies, and what programs use with them.

A strategy runs a function on several *replicas*, keeps the variables made in its scope, and combines what the
replicas compute. See `StrategyExtended` for the words per-replica, mirrored, replica context and cross-replica
context, and `Strategy.reduce` for reductions.
"""

from refdist._core.base.enums import InputReplicationMode, ReduceOp
from refdist._core.base.options import InputContext, InputOptions, RunOptions, ValueContext
from refdist._core.input.distributed_dataset import DistributedDataset, DistributedIterator
from refdist._core.input.input_iterator import InputIterator
from refdist._core.ops.late_names import late_names as _late_names
from refdist._core.replicas.context import (
    ReplicaContext,
    get_replica_context,
    get_strategy,
    has_strategy,
    in_cross_replica_context,
)
from refdist._core.replicas.values import DistributedValues
from refdist._core.strategies.cross_device_ops import (
    CrossDeviceOps,
    HierarchicalCopyAllReduce,
    NcclAllReduce,
    ReductionToOneDevice,
)
from refdist._core.strategies.mirrored import MirroredStrategy
from refdist._core.strategies.multi_worker_mirrored import MultiWorkerMirroredStrategy
from refdist._core.strategies.one_device import OneDeviceStrategy
from refdist._core.strategies.parameter_server import ParameterServerStrategy
from refdist._core.strategies.strategy import Strategy, experimental_set_strategy
from refdist._core.strategies.tpu_strategy import TPUStrategy
from refdist._core.strategies.verbs import StrategyExtended
from refdist.distribute import cluster_resolver, coordinator, experimental

_LATE = {
    "refdist._core.coordination.server": "Server",
}
__getattr__, __dir__ = _late_names("distribute", globals(), _LATE)

__all__ = [
    "CrossDeviceOps",
    "DistributedDataset",
    "DistributedIterator",
    "DistributedValues",
    "HierarchicalCopyAllReduce",
    "InputContext",
    "InputIterator",
    "InputOptions",
    "InputReplicationMode",
    "MirroredStrategy",
    "MultiWorkerMirroredStrategy",
    "NcclAllReduce",
    "OneDeviceStrategy",
    "ParameterServerStrategy",
    "ReduceOp",
    "ReductionToOneDevice",
    "ReplicaContext",
    "RunOptions",
    "Strategy",
    "StrategyExtended",
    "TPUStrategy",
    "ValueContext",
    "cluster_resolver",
    "coordinator",
    "experimental",
    "experimental_set_strategy",
    "get_replica_context",
    "get_strategy",
    "has_strategy",
    "in_cross_replica_context",
]
