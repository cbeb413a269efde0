"""`tf.compat.v1.distribute`: the strategies in their v1 flavor."""

from refdist._core.base.enums import InputReplicationMode, ReduceOp
from refdist._core.base.options import InputContext, RunOptions
from refdist._core.input.input_iterator import InputIterator
from refdist._core.ops.missing_names import lacking as _lacking
from refdist._core.replicas.context import (
    ReplicaContext,
    get_replica_context,
    get_strategy,
    has_strategy,
    in_cross_replica_context,
)
from refdist._core.strategies.cross_device_ops import (
    CrossDeviceOps,
    HierarchicalCopyAllReduce,
    NcclAllReduce,
    ReductionToOneDevice,
)
from refdist._core.strategies.strategy import experimental_set_strategy
from refdist._core.strategies.v1_strategies import MirroredStrategyV1 as MirroredStrategy
from refdist._core.strategies.v1_strategies import OneDeviceStrategyV1 as OneDeviceStrategy
from refdist._core.strategies.v1_strategies import StrategyV1 as Strategy
from refdist._core.strategies.verbs import StrategyExtended
from refdist.compat.v1.distribute import experimental
from refdist.distribute import cluster_resolver

__getattr__ = _lacking("compat.v1.distribute")

__all__ = [
    "CrossDeviceOps",
    "HierarchicalCopyAllReduce",
    "InputContext",
    "InputIterator",
    "InputReplicationMode",
    "MirroredStrategy",
    "NcclAllReduce",
    "OneDeviceStrategy",
    "ReduceOp",
    "ReductionToOneDevice",
    "ReplicaContext",
    "RunOptions",
    "Strategy",
    "StrategyExtended",
    "cluster_resolver",
    "experimental",
    "experimental_set_strategy",
    "get_replica_context",
    "get_strategy",
    "has_strategy",
    "in_cross_replica_context",
]
