from refdist._core.base.enums import InputReplicationMode as InputReplicationMode, ReduceOp as ReduceOp
from refdist._core.base.options import (
    InputContext as InputContext,
    InputOptions as InputOptions,
    RunOptions as RunOptions,
    ValueContext as ValueContext,
)
from refdist._core.coordination.server import Server as Server
from refdist._core.input.distributed_dataset import (
    DistributedDataset as DistributedDataset,
    DistributedIterator as DistributedIterator,
)
from refdist._core.input.input_iterator import InputIterator as InputIterator
from refdist._core.replicas.context import (
    ReplicaContext as ReplicaContext,
    get_replica_context as get_replica_context,
    get_strategy as get_strategy,
    has_strategy as has_strategy,
    in_cross_replica_context as in_cross_replica_context,
)
from refdist._core.replicas.values import DistributedValues as DistributedValues
from refdist._core.strategies.cross_device_ops import (
    CrossDeviceOps as CrossDeviceOps,
    HierarchicalCopyAllReduce as HierarchicalCopyAllReduce,
    NcclAllReduce as NcclAllReduce,
    ReductionToOneDevice as ReductionToOneDevice,
)
from refdist._core.strategies.mirrored import MirroredStrategy as MirroredStrategy
from refdist._core.strategies.multi_worker_mirrored import MultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy
from refdist._core.strategies.one_device import OneDeviceStrategy as OneDeviceStrategy
from refdist._core.strategies.parameter_server import ParameterServerStrategy as ParameterServerStrategy
from refdist._core.strategies.strategy import (
    Strategy as Strategy,
    experimental_set_strategy as experimental_set_strategy,
)
from refdist._core.strategies.tpu_strategy import TPUStrategy as TPUStrategy
from refdist._core.strategies.verbs import StrategyExtended as StrategyExtended
from refdist.distribute import (
    cluster_resolver as cluster_resolver,
    coordinator as coordinator,
    experimental as experimental,
)

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
    "Server",
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
