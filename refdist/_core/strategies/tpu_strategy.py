"""TPUStrategy: synchronous training on TPU cores, one or several for each replica."""

from typing import Any

from refdist._core.backends.choosing import current
from refdist._core.clusters.tpu_system import TPUClusterResolver, mesh_of, require_resolver
from refdist._core.devices.device import Device
from refdist._core.devices.tpu_topology import DeviceAssignment
from refdist._core.seam.backend import host_device
from refdist._core.strategies.cross_device_ops import NcclAllReduce
from refdist._core.strategies.extended import EagerExtended
from refdist._core.strategies.plan import Plan
from refdist._core.strategies.strategy import Strategy
from refdist._core.variables.placement import Placement


def tpu_plan(resolver: TPUClusterResolver | None, assignment: DeviceAssignment | None, *, spmd: bool = False) -> Plan:
    """A replica on each core, or on the cores assigned to it; a copy of every variable on its first core."""
    require_resolver(resolver, "TPUStrategy()")
    backend = current()
    mesh = mesh_of(backend)
    chosen = resolver or TPUClusterResolver("")
    logical = tuple((core,) for core in mesh.flat) if assignment is None else _assigned(assignment, mesh)
    devices = tuple(cores[0] for cores in logical)
    host = Device("CPU:0").at(devices[0].job, devices[0].task)
    if host != host_device(backend) and host.job != chosen.task_type:
        raise ValueError(
            f"TPUStrategy() got a resolver of the job {chosen.task_type!r}; expected {host.job!r}, the job of the TPU hosts of the "
            f"backend {backend.name!r}. Leave job_name out."
        )
    return Plan(
        "tpu",
        backend,
        devices,
        devices,
        Placement.MIRRORED,
        NcclAllReduce(),
        # Results go to the first host; if that is this machine, they go there anyway.
        scope_device=None if host == host_device(backend) else host,
        resolver=chosen,
        logical=logical,
        spmd=spmd,
        traces_once=True,
    )


def _assigned(assignment: DeviceAssignment, mesh: Any) -> tuple[tuple[Device, ...], ...]:
    """The cores of each replica."""
    if not isinstance(assignment, DeviceAssignment):
        raise TypeError(
            f"TPUStrategy() got a {type(assignment).__name__}; expected a tf.tpu.experimental.DeviceAssignment. Make one with "
            f"DeviceAssignment.build(topology, ...)."
        )
    given, there = tuple(assignment.topology.mesh_shape.tolist()), mesh.shape
    if given != there:
        raise ValueError(
            f"TPUStrategy() got a device assignment for a mesh of shape {given}; expected {there}, that of the backend in use. "
            f"Build it from what tf.tpu.experimental.initialize_tpu_system() returns now."
        )
    cores = range(assignment.num_cores_per_replica)
    logical = tuple(
        tuple(mesh[assignment.coordinates(replica, core)] for core in cores)
        for replica in range(assignment.num_replicas)
    )
    used = [core for replica in logical for core in replica]
    twice = sorted({core.short for core in used if used.count(core) > 1}) if len(set(used)) < len(used) else []
    if twice or not used:
        raise ValueError(
            f"TPUStrategy() got a device assignment that uses {', '.join(twice) + ' more than once' if twice else 'no core'}; "
            f"expected at least one core, and each at most once. Let DeviceAssignment.build() make it."
        )
    return logical


class TPUStrategy(Strategy):
    """Train in step on TPU cores; a device assignment can give each replica several, its logical devices."""

    def __init__(
        self,
        tpu_cluster_resolver: TPUClusterResolver | None = None,
        experimental_device_assignment: DeviceAssignment | None = None,
        experimental_spmd_xla_partitioning: bool = False,
    ) -> None:
        plan = tpu_plan(tpu_cluster_resolver, experimental_device_assignment, spmd=experimental_spmd_xla_partitioning)
        super().__init__(EagerExtended(plan))

    @property
    def cluster_resolver(self) -> TPUClusterResolver:
        """The TPUClusterResolver that the strategy was given, or else the one that it made for the local TPU system."""
        return self.extended.plan.resolver


class ExperimentalTPUStrategy(TPUStrategy):
    """The same under its older name, which has another name for the device assignment."""

    def __init__(
        self,
        tpu_cluster_resolver: TPUClusterResolver | None = None,
        device_assignment: DeviceAssignment | None = None,
    ) -> None:
        super().__init__(tpu_cluster_resolver, device_assignment)
