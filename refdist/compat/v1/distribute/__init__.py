"""`tf.compat.v1.distribute`: the strategies in their v1 flavor."""

from refdist.collectives import CrossDeviceOps, HierarchicalCopyAllReduce, NcclAllReduce, ReductionToOneDevice
from refdist.compat.v1.distribute import experimental
from refdist.context import (
    ReplicaContext,
    get_replica_context,
    get_strategy,
    has_strategy,
    in_cross_replica_context,
)
from refdist.enums import InputReplicationMode, ReduceOp
from refdist.extended import StrategyExtended
from refdist.input_iterator import InputIterator
from refdist.options import InputContext, RunOptions
from refdist.strategy import experimental_set_strategy
from refdist.surface_v1 import MirroredStrategyV1 as MirroredStrategy
from refdist.surface_v1 import OneDeviceStrategyV1 as OneDeviceStrategy
from refdist.surface_v1 import StrategyV1 as Strategy

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
    "experimental",
    "experimental_set_strategy",
    "get_replica_context",
    "get_strategy",
    "has_strategy",
    "in_cross_replica_context",
]
