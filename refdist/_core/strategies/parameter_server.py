"""ParameterServerStrategy: workers compute, each at its own pace, and parameter servers keep the variables."""

import contextlib
import dataclasses
from collections.abc import Callable, Generator
from typing import Any

from refdist._core.backends.choosing import current
from refdist._core.base.where import HERE, entered
from refdist._core.clusters.resolvers import ClusterResolver, require_cluster_resolver
from refdist._core.devices.device import Device
from refdist._core.seam.backend import host_device
from refdist._core.seam.capabilities import Clustered, required
from refdist._core.strategies.cross_device_ops import ReductionToOneDevice
from refdist._core.strategies.extended import EagerExtended
from refdist._core.strategies.plan import Plan
from refdist._core.strategies.strategy import Strategy
from refdist._core.strategies.verbs import StrategyExtended
from refdist._core.variables.placement import Placement
from refdist._core.variables.sharded_variable import PartitionFunction, create_sharded

_JOBS = ("chief", "worker", "ps", "evaluator")


def parameter_server_plan(resolver: ClusterResolver, *, own: bool = False) -> Plan:
    """One replica, here or on the worker that this task is; variables on the parameter servers, in turn."""
    spec, backend = resolver.cluster_spec(), current()
    counts = {job: spec.num_tasks(job) for job in spec.jobs}
    unknown = [job for job in counts if job not in _JOBS]
    if unknown or not counts.get("ps") or not counts.get("worker") or counts.get("chief", 0) > 1:
        raise ValueError(
            f"ParameterServerStrategy() got a cluster with {counts or 'no tasks'}; expected at least one ps and one worker, at "
            f"most one chief, and no other job but evaluator. Correct the cluster of the resolver."
        )
    homes = tuple(Device(f"/job:ps/task:{index}/device:CPU:0") for index in spec.task_indices("ps"))
    workers = worker_devices(resolver)
    required(backend, Clustered, "ParameterServerStrategy").connect([*homes, *workers])
    device = host_device(backend)
    if own and resolver.task_type == "worker":
        spec.task_address("worker", resolver.task_id or 0)  # raises where there is no such task
        device = workers[spec.task_indices("worker").index(resolver.task_id or 0)]
    return Plan(
        "parameter_server", backend, (device,), homes, Placement.CENTRAL, ReductionToOneDevice(), resolver=resolver
    )


def worker_devices(resolver: ClusterResolver) -> list[Device]:
    """The device on which each worker computes: its first GPU where machines have any."""
    devices = current().devices()
    kind = "GPU" if any(device.kind == "GPU" and device.beside(devices[0]) for device in devices) else "CPU"
    workers = resolver.cluster_spec().task_indices("worker")
    return [Device(f"/job:worker/task:{index}/device:{kind}:0") for index in workers]


class ParameterServerExtended(EagerExtended):
    """Makes variables on parameter servers, cut into shards where a partitioner says so."""

    def __init__(self, plan: Plan, partitioner: PartitionFunction | None) -> None:
        super().__init__(plan)
        self._partitioner = partitioner

    def create_variable(self, following: Callable[..., Any], **kwargs: Any) -> Any:
        if self._partitioner is None or HERE.get().colocated is not None:
            return super().create_variable(following, **kwargs)
        return create_sharded(self._partitioner, lambda **own: self._create_one(following, own), kwargs)

    def _create_one(self, following: Callable[..., Any], kwargs: dict[str, Any]) -> Any:
        return super().create_variable(following, **kwargs)


class ParameterServerStrategy(Strategy):
    """Train asynchronously: a coordinator gives steps to workers, and parameter servers hold the variables.

    This process plays all tasks of the cluster. It is the coordinator: what is not scheduled with a
    `tf.distribute.coordinator.ClusterCoordinator` runs here. Each worker has one replica.
    """

    coordinator: Any = None  # the ClusterCoordinator, once there is one

    def __init__(
        self, cluster_resolver: ClusterResolver, variable_partitioner: PartitionFunction | None = None
    ) -> None:
        require_cluster_resolver(cluster_resolver, "ParameterServerStrategy()")
        if variable_partitioner is not None and not callable(variable_partitioner):
            raise TypeError(
                f"ParameterServerStrategy() got variable_partitioner={variable_partitioner!r}; expected a function of shape and "
                f"dtype. Use one of tf.distribute.experimental.partitioners."
            )
        if cluster_resolver.task_type not in (None, "", "chief"):
            raise ValueError(
                f"ParameterServerStrategy() was made in the task {cluster_resolver.task_type}:{cluster_resolver.task_id}; expected "
                f"the chief, because it alone coordinates. Make it there only."
            )
        plan = parameter_server_plan(cluster_resolver)
        super().__init__(ParameterServerExtended(plan, variable_partitioner))
        self._workers = [
            ParameterServerExtended(dataclasses.replace(plan, devices=(device,)), variable_partitioner)
            for device in worker_devices(cluster_resolver)
        ]
        for worker in self._workers:
            worker.bind(self)
            worker.turns = self._here.turns

    @property
    def _extended(self) -> StrategyExtended:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The verbs on the coordinator, or on the worker that the code is on."""
        on = HERE.get().worker
        return self._workers[on[1]] if on is not None and on[0] is self else self._here

    @_extended.setter
    def _extended(self, extended: StrategyExtended) -> None:
        self._here = extended

    @property
    def worker_count(self) -> int:
        """How many workers the coordinator has."""
        return len(self._workers)

    @contextlib.contextmanager
    def on_worker(self, index: int) -> Generator[Device]:
        """Run a block on a worker, in cross-replica context."""
        device = self._workers[index].plan.devices[0]
        with entered(worker=(self, index)), self.scope(), entered(device=device), self._extended.backend.on(device):
            yield device


def current_worker() -> int | None:
    """The number of the worker that the code is on; None on the coordinator."""
    on = HERE.get().worker
    return None if on is None else on[1]
