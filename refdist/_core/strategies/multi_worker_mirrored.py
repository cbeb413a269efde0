"""MultiWorkerMirroredStrategy: synchronous training on the devices of several workers."""

import importlib
import os
import warnings
from collections.abc import Sequence
from typing import Any

from refdist._core.backends.choosing import current, stay_with
from refdist._core.base.enums import CommunicationImplementation
from refdist._core.base.options import NO_HINTS, CommunicationOptions
from refdist._core.clusters.membership import found
from refdist._core.clusters.resolvers import (
    ClusterResolver,
    ScheduledClusterResolver,
    TFConfigClusterResolver,
    require_cluster_resolver,
)
from refdist._core.clusters.workers import require_agreement, workers_run_together
from refdist._core.processes.cluster_member import ClusterMember
from refdist._core.seam.backend import Backend, host_device
from refdist._core.seam.capabilities import Clustered, Joins, capability, required
from refdist._core.seam.peers import Peers
from refdist._core.strategies.cross_device_ops import WorkersAllReduce
from refdist._core.strategies.extended import EagerExtended
from refdist._core.strategies.mirrored import chosen_devices
from refdist._core.strategies.plan import Plan
from refdist._core.strategies.strategy import Strategy
from refdist._core.variables.placement import Placement


def multi_worker_plan(resolver: ClusterResolver | None, options: Any = None) -> Plan:
    """A replica, and a copy of every variable, on each device of each worker; this plan covers one of the workers."""
    chosen = _found_resolver() if resolver is None else resolver
    require_cluster_resolver(chosen, "MultiWorkerMirroredStrategy()")
    communication = _communication(options)
    spec = chosen.cluster_spec()
    peers = [f"{job}:{index}" for job in ("chief", "worker") if job in spec.jobs for index in spec.task_indices(job)]
    backend, job, task = current(), chosen.task_type or "worker", chosen.task_id or 0
    if peers and f"{job}:{task}" not in peers:
        raise ValueError(
            f"MultiWorkerMirroredStrategy() was made in the task {job}:{task}; expected one of {', '.join(peers)}, because only "
            f"these train. Make it there only."
        )
    if peers:
        require_agreement(spec.as_dict(), f"{job}:{task}", peers)
    processes = _processes(backend, chosen, peers, f"{job}:{task}") if len(peers) > 1 else None
    if spec and host_device(backend).job != job:
        backend = required(backend, Clustered, "A task of a cluster").for_task(job, task, 1)
        if processes is not None:
            stay_with(backend)  # a worker has its devices under one name, in the scope of the strategy and outside
    devices = chosen_devices(_names(chosen, backend), backend)
    _warn_of_nccl(communication, devices[0].kind)
    return Plan(
        "multi_worker_mirrored",
        backend,
        devices,
        devices,
        Placement.MIRRORED,
        WorkersAllReduce(),
        workers=max(1, len(peers)),
        worker=peers.index(f"{job}:{task}") if peers else 0,
        peers=processes,
        scope_device=host_device(backend),
        resolver=chosen,
        communication=communication,
    )


def _communication(options: Any) -> CommunicationOptions:
    """The options of a strategy, which may leave them out."""
    if options is not None and not isinstance(options, CommunicationOptions):
        raise ValueError(
            f"MultiWorkerMirroredStrategy() got communication_options={options!r}; expected tf.distribute.experimental."
            f"CommunicationOptions. Write communication_options=CommunicationOptions(...), or leave it out."
        )
    return options or NO_HINTS


def _warn_of_nccl(options: CommunicationOptions, kind: str) -> None:
    if options.implementation is CommunicationImplementation.NCCL and kind != "GPU":
        warnings.warn(
            f"MultiWorkerMirroredStrategy() was to communicate by NCCL, and has a {kind}; expected GPUs, because NCCL knows no "
            f"other devices. Leave the implementation out.",
            UserWarning,
            stacklevel=4,
        )


def _found_resolver() -> ClusterResolver:
    """The cluster of TF_CONFIG, or else the one in which a scheduler has started this process."""
    of_tensorflow = TFConfigClusterResolver()
    if of_tensorflow.cluster_spec() or workers_run_together() or capability(current(), Joins) is None:
        return of_tensorflow
    member = found(os.environ)
    if member is None or member.count == 1 or member.coordinator is None:
        return of_tensorflow
    return ScheduledClusterResolver(member.coordinator, member.index, member.count, member.told_by)


def _processes(backend: Backend, resolver: ClusterResolver, tasks: Sequence[str], own: str) -> Peers | None:
    """The workers as processes of their own, where the backend can join them; None where they run together in this one."""
    joins = capability(backend, Joins)
    if joins is None or workers_run_together():
        return None
    joining = importlib.import_module("refdist._core.processes.joining")  # loads JAX
    addresses, spec = (), resolver.cluster_spec()
    hosted, told_by = os.environ.get("REFDIST_COORDINATOR") or None, "TF_CONFIG"
    if isinstance(resolver, ScheduledClusterResolver):
        coordinator, told_by = resolver.coordinator, resolver.told_by
    else:
        addresses = tuple(spec.task_address(*_task(task)) for task in tasks)
        coordinator = hosted or addresses[0]
    member = ClusterMember(coordinator, tasks.index(own), len(tasks), addresses, hosted is not None, told_by)
    return joining.join(member, started=joins.has_started())


def _task(name: str) -> tuple[str, int]:
    job, _, index = name.partition(":")
    return job, int(index)


def _names(resolver: ClusterResolver, backend: Backend) -> list[str] | None:
    """The devices of each worker, by what the resolver says of accelerators; None where it only reads TF_CONFIG.

    Without accelerators a worker has one CPU, or as many as REFDIST_DEVICES_PER_WORKER says, which the launcher sets.
    """
    if isinstance(resolver, (TFConfigClusterResolver, ScheduledClusterResolver)):
        wanted = os.environ.get("REFDIST_DEVICES_PER_WORKER", "")
        if wanted and not (wanted.isdecimal() and int(wanted)):
            raise ValueError(
                f"REFDIST_DEVICES_PER_WORKER is {wanted!r}; expected a number of at least 1. Correct it, or leave it out."
            )
        if not wanted or any(device.kind != "CPU" for device in backend.devices()):
            return None
        return [f"CPU:{index}" for index in range(int(wanted))]
    counts = resolver.num_accelerators()
    kind = next((kind for kind in ("GPU", "TPU") if counts.get(kind)), "CPU")
    return [f"{kind}:{index}" for index in range(counts.get(kind) or 1)]


class MultiWorkerMirroredStrategy(Strategy):
    """Train in step on the devices of several workers, each of which runs the same program."""

    def __init__(
        self, cluster_resolver: ClusterResolver | None = None, communication_options: CommunicationOptions | None = None
    ) -> None:
        super().__init__(EagerExtended(multi_worker_plan(cluster_resolver, communication_options)))

    @property
    def cluster_resolver(self) -> ClusterResolver:
        """The ClusterResolver that the strategy was given, or else the TFConfigClusterResolver that it made."""
        return self.extended.plan.resolver


class ExperimentalMultiWorkerMirroredStrategy(MultiWorkerMirroredStrategy):
    """The same under its older name, which takes the arguments in the opposite order."""

    def __init__(
        self,
        communication: CommunicationImplementation | str = CommunicationImplementation.AUTO,
        cluster_resolver: ClusterResolver | None = None,
    ) -> None:
        super().__init__(cluster_resolver, CommunicationOptions(implementation=communication))
