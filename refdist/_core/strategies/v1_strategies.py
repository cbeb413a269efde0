"""The v1 flavor of the strategies: what it adds, and what it relaxes."""

import copy
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from refdist._core.base.enums import CommunicationImplementation, InputReplicationMode, ReduceOp
from refdist._core.base.options import CommunicationOptions, InputContext
from refdist._core.base.where import HERE
from refdist._core.clusters.resolvers import ClusterResolver, TFConfigClusterResolver, require_cluster_resolver
from refdist._core.clusters.tpu_system import TPUClusterResolver
from refdist._core.devices.device import DeviceName
from refdist._core.devices.tpu_topology import DeviceAssignment
from refdist._core.input.dataset import Dataset
from refdist._core.input.distributed_dataset import DistributedDataset, stage_of
from refdist._core.input.input_iterator import ConfigProto, InputIterator
from refdist._core.input.replica_batches import GlobalBatches, Placer
from refdist._core.strategies.central_storage import central_storage_plan
from refdist._core.strategies.cross_device_ops import CrossDeviceOps
from refdist._core.strategies.extended import EagerExtended
from refdist._core.strategies.mirrored import mirrored_plan
from refdist._core.strategies.multi_worker_mirrored import multi_worker_plan
from refdist._core.strategies.one_device import one_device_plan
from refdist._core.strategies.parameter_server import parameter_server_plan
from refdist._core.strategies.strategy import StrategyBase, input_worker
from refdist._core.strategies.tpu_strategy import tpu_plan
from refdist._core.variables.placement import Placement


class StrategyV1(StrategyBase):
    """A policy for spreading state and computation over a list of devices, in its v1 flavor."""

    def reduce(self, reduce_op: ReduceOp | str, value: Any, axis: Any = None) -> Any:
        """Combine a per-replica value over the replicas, and over an axis of each where one is given."""
        return self._reduce(reduce_op, value, axis)

    def experimental_make_numpy_dataset(self, numpy_input: Any, session: Any = None) -> Dataset:
        """Make a dataset of the rows of arrays; while a graph is being built, the given session loads them."""
        graph = HERE.get().graph
        if graph is None or session is None:
            return Dataset.from_tensor_slices(numpy_input)
        # The arrays are not arguments of the call, because they must not become part of the graph.
        return session.run(graph.add("numpy_dataset", lambda: Dataset.from_tensor_slices(numpy_input)))

    def make_dataset_iterator(self, dataset: Any) -> InputIterator:
        """Divide the batches of a dataset evenly among the replicas.

        DEPRECATED: this method is not available in TF 2.x.
        """
        stage, own = stage_of(dataset)
        placer = Placer(self._extended.plan, None)
        return InputIterator(
            DistributedDataset(GlobalBatches(stage, own, placer, input_worker(self._extended), even=True))
        )

    def make_input_fn_iterator(
        self,
        input_fn: Callable[[InputContext], Any],
        replication_mode: InputReplicationMode = InputReplicationMode.PER_WORKER,
    ) -> InputIterator:
        """Give each replica a whole batch of the dataset that a function makes.

        DEPRECATED: this method is not available in TF 2.x.
        """
        if replication_mode is not InputReplicationMode.PER_WORKER:
            raise ValueError(
                f"make_input_fn_iterator() got replication_mode={replication_mode!r}; expected InputReplicationMode.PER_WORKER, "
                f"the only one there is. Leave it out."
            )
        return InputIterator(self.distribute_datasets_from_function(input_fn))

    def experimental_run(self, fn: Callable[..., Any], input_iterator: Any = None) -> Any:
        """Run a function on each replica, with the next input of an iterator where one is given.

        DEPRECATED: this method is not available in TF 2.x. Please switch to using `run` instead.
        """
        if self._extended.plan.placement is Placement.CENTRAL:  # only the page of this strategy has the notice
            warnings.warn(
                "experimental_run is deprecated and will be removed in a future version; it is not available in TF 2.x. Switch "
                "to using `run` instead.",
                DeprecationWarning,
                stacklevel=2,
            )
        with self.scope():
            args = (input_iterator.get_next(),) if input_iterator is not None else ()
            return self.run(fn, args=args)

    def update_config_proto(self, config_proto: ConfigProto) -> ConfigProto:
        """Copy a configuration, and add what this strategy needs: a leader and filters for several workers.

        DEPRECATED: this method is not available in TF 2.x.
        """
        if not isinstance(config_proto, ConfigProto):
            raise TypeError(
                f"update_config_proto() got a {type(config_proto).__name__}; expected a tf.compat.v1.ConfigProto. Pass one."
            )
        updated, plan = copy.deepcopy(config_proto), self._extended.plan
        if plan.workers > 1:
            job, task = plan.resolver.task_type, plan.resolver.task_id
            updated.experimental.collective_group_leader = f"/job:{job}/replica:0/task:0"
            updated.device_filters[:] = [f"/job:{job}/task:{task}"]
        return updated


class OneDeviceStrategyV1(StrategyV1):
    """Run on a single device, to try a program before it is distributed."""

    def __init__(self, device: DeviceName) -> None:
        super().__init__(EagerExtended(one_device_plan(device)))


class MirroredStrategyV1(StrategyV1):
    """Train in step on the devices of one machine."""

    def __init__(
        self, devices: Sequence[DeviceName] | None = None, cross_device_ops: CrossDeviceOps | None = None
    ) -> None:
        super().__init__(EagerExtended(mirrored_plan(devices, cross_device_ops)))


class CentralStorageStrategyV1(StrategyV1):
    """Compute on several devices, with all variables on one."""

    def __init__(
        self, compute_devices: Sequence[DeviceName] | None = None, parameter_device: DeviceName | None = None
    ) -> None:
        super().__init__(EagerExtended(central_storage_plan(compute_devices, parameter_device)))


class MultiWorkerMirroredStrategyV1(StrategyV1):
    """Train in step on the devices of several workers, each of which runs the same program."""

    def __init__(
        self,
        communication: CommunicationImplementation | str = CommunicationImplementation.AUTO,
        cluster_resolver: ClusterResolver | None = None,
    ) -> None:
        options = CommunicationOptions(implementation=communication)
        super().__init__(EagerExtended(multi_worker_plan(cluster_resolver, options)))


class ParameterServerStrategyV1(StrategyV1):
    """Compute in one worker, with all variables on parameter servers; without a cluster, as CentralStorageStrategy does."""

    def __init__(self, cluster_resolver: ClusterResolver | None = None) -> None:
        chosen = TFConfigClusterResolver() if cluster_resolver is None else cluster_resolver
        require_cluster_resolver(chosen, "ParameterServerStrategy()")
        clustered = bool(chosen.cluster_spec())
        plan = parameter_server_plan(chosen, own=True) if clustered else central_storage_plan(None, None)
        super().__init__(EagerExtended(plan))


class TPUStrategyV1(StrategyV1):
    """Train in step on TPU cores."""

    def __init__(
        self,
        tpu_cluster_resolver: TPUClusterResolver | None = None,
        steps_per_run: int | None = None,
        device_assignment: DeviceAssignment | None = None,
    ) -> None:
        super().__init__(EagerExtended(tpu_plan(tpu_cluster_resolver, device_assignment)))
        self.steps_per_run = steps_per_run or 1
