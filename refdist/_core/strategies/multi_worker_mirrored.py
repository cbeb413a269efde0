"""MultiWorkerMirroredStrategy: synchronous training on the devices of several workers."""

import importlib
import os
from collections.abc import Sequence
from typing import Any

from refdist._core.backends.choosing import current
from refdist._core.clusters.cluster_spec import ClusterSpec
from refdist._core.clusters.resolvers import ClusterResolver, TFConfigClusterResolver
from refdist._core.clusters.workers import workers_run_together
from refdist._core.processes.membership import Membership
from refdist._core.seam.backend import Backend, host_device
from refdist._core.seam.capabilities import Clustered, Joins, capability, required
from refdist._core.seam.peers import Peers
from refdist._core.strategies.cross_device_ops import NcclAllReduce
from refdist._core.strategies.extended import EagerExtended
from refdist._core.strategies.mirrored import chosen_devices
from refdist._core.strategies.plan import Plan
from refdist._core.strategies.strategy import Strategy
from refdist._core.variables.placement import Placement


def multi_worker_plan(resolver: ClusterResolver | None) -> Plan:
    """A replica, and a copy of every variable, on each device of each worker; this plan covers one of the workers."""
    chosen = resolver or TFConfigClusterResolver()
    spec = chosen.cluster_spec()
    peers = [f"{job}:{index}" for job in ("chief", "worker") if job in spec.jobs for index in spec.task_indices(job)]
    backend, job, task = current(), chosen.task_type or "worker", chosen.task_id or 0
    if peers and f"{job}:{task}" not in peers:
        raise ValueError(
            f"MultiWorkerMirroredStrategy() was made in the task {job}:{task}; expected one of {', '.join(peers)}, because only "
            f"these train. Make it there only."
        )
    processes = _processes(backend, spec, peers, f"{job}:{task}") if len(peers) > 1 else None
    if spec and host_device(backend).job != job:
        backend = required(backend, Clustered, "A task of a cluster").for_task(job, task, 1)
    devices = chosen_devices(_names(chosen), backend)
    return Plan(
        "multi_worker_mirrored",
        backend,
        devices,
        devices,
        Placement.MIRRORED,
        NcclAllReduce(),
        workers=max(1, len(peers)),
        worker=peers.index(f"{job}:{task}") if peers else 0,
        peers=processes,
        scope_device=host_device(backend),
        resolver=chosen,
    )


def _processes(backend: Backend, spec: ClusterSpec, tasks: Sequence[str], own: str) -> Peers | None:
    """The workers as processes of their own, where the backend can join them; None where they run together in this one."""
    joins = capability(backend, Joins)
    if joins is None or workers_run_together():
        return None
    joining = importlib.import_module("refdist._core.processes.joining")  # loads JAX
    addresses = tuple(spec.task_address(*_task(task)) for task in tasks)
    hosted = os.environ.get("REFDIST_COORDINATOR")
    member = Membership(hosted or addresses[0], tasks.index(own), len(tasks), addresses, hosted=hosted is not None)
    return joining.join(member, started=joins.has_started())


def _task(name: str) -> tuple[str, int]:
    job, _, index = name.partition(":")
    return job, int(index)


def _names(resolver: ClusterResolver) -> list[str] | None:
    """The devices of each worker, by what the resolver says of accelerators; None where it only reads TF_CONFIG."""
    if isinstance(resolver, TFConfigClusterResolver):
        return None
    counts = resolver.num_accelerators()
    kind = next((kind for kind in ("GPU", "TPU") if counts.get(kind)), "CPU")
    return [f"{kind}:{index}" for index in range(counts.get(kind) or 1)]


class MultiWorkerMirroredStrategy(Strategy):
    """Train in step on the devices of several workers, each of which runs the same program."""

    def __init__(self, cluster_resolver: ClusterResolver | None = None, communication_options: Any = None) -> None:
        super().__init__(EagerExtended(multi_worker_plan(cluster_resolver)))

    @property
    def cluster_resolver(self) -> ClusterResolver:
        """The ClusterResolver that the strategy was given, or else the TFConfigClusterResolver that it made."""
        return self.extended.plan.resolver


class ExperimentalMultiWorkerMirroredStrategy(MultiWorkerMirroredStrategy):
    """The same under its older name, which takes the arguments in the opposite order."""

    def __init__(self, communication: Any = None, cluster_resolver: ClusterResolver | None = None) -> None:
        super().__init__(cluster_resolver)
