"""`tf.distribute`: strategies, and what programs use with them.

A strategy runs a function on several *replicas*, keeps the variables made in its scope, and combines what the
replicas compute. See `StrategyExtended` for the words per-replica, mirrored, replica context and cross-replica
context, and `Strategy.reduce` for reductions.
"""

from refdist.collectives import CrossDeviceOps, HierarchicalCopyAllReduce, NcclAllReduce, ReductionToOneDevice
from refdist.context import (
    ReplicaContext,
    get_replica_context,
    get_strategy,
    has_strategy,
    in_cross_replica_context,
    install_default,
)
from refdist.data.distributed import DistributedDataset, DistributedIterator
from refdist.distribute import cluster_resolver, coordinator, experimental
from refdist.enums import InputReplicationMode, ReduceOp
from refdist.extended import StrategyExtended
from refdist.input_iterator import InputIterator
from refdist.options import InputContext, InputOptions, RunOptions, ValueContext
from refdist.strategies.default import default_strategy
from refdist.strategies.mirrored import MirroredStrategy
from refdist.strategies.multi_worker_mirrored import MultiWorkerMirroredStrategy
from refdist.strategies.one_device import OneDeviceStrategy
from refdist.strategies.parameter_server import ParameterServerStrategy
from refdist.strategies.tpu import TPUStrategy
from refdist.strategy import Strategy, experimental_set_strategy
from refdist.values import DistributedValues

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

install_default(default_strategy)
