from refdist._core.base.enums import InputReplicationMode as InputReplicationMode, ReduceOp as ReduceOp
from refdist._core.base.options import InputContext as InputContext, RunOptions as RunOptions
from refdist._core.input.input_iterator import InputIterator as InputIterator
from refdist._core.replicas.context import (
    ReplicaContext as ReplicaContext,
    get_replica_context as get_replica_context,
    get_strategy as get_strategy,
    has_strategy as has_strategy,
    in_cross_replica_context as in_cross_replica_context,
)
from refdist._core.strategies.cross_device_ops import (
    CrossDeviceOps as CrossDeviceOps,
    HierarchicalCopyAllReduce as HierarchicalCopyAllReduce,
    NcclAllReduce as NcclAllReduce,
    ReductionToOneDevice as ReductionToOneDevice,
)
from refdist._core.strategies.strategy import experimental_set_strategy as experimental_set_strategy
from refdist._core.strategies.v1_strategies import (
    MirroredStrategyV1 as MirroredStrategy,
    OneDeviceStrategyV1 as OneDeviceStrategy,
    StrategyV1 as Strategy,
)
from refdist._core.strategies.verbs import StrategyExtended as StrategyExtended
from refdist.compat.v1.distribute import experimental as experimental
from refdist.distribute import cluster_resolver as cluster_resolver

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
