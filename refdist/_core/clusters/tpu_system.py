"""The TPU system: the cores of the backend in use, seen as a cluster."""

from typing import Any

import numpy as np

from refdist._core.backends.choosing import current, unused
from refdist._core.base.errors import NotFoundError
from refdist._core.clusters.cluster_spec import ClusterSpec
from refdist._core.clusters.resolvers import ClusterResolver
from refdist._core.devices.tpu_topology import Topology, whole_mesh
from refdist._core.seam.backend import Backend
from refdist._core.seam.capabilities import LogicalDevices, capability

_PROTOCOL = "grpc://"


class TPUClusterResolver(ClusterResolver):
    """Stands for the TPU system of the backend in use, under whatever name it is asked for."""

    def __init__(
        self,
        tpu: str | None = None,
        zone: str | None = None,
        project: str | None = None,
        job_name: str = "worker",
        coordinator_name: str | None = None,
        coordinator_address: str | None = None,
        credentials: Any = "default",
        service: Any = None,
        discovery_url: str | None = None,
    ) -> None:
        if tpu is not None and not isinstance(tpu, str):
            raise TypeError(
                f"TPUClusterResolver() got tpu={tpu!r}; expected the name of a TPU system, or '' for the local one. Write "
                f"TPUClusterResolver(tpu='')."
            )
        if not tpu and not _cores(unused()).size:
            raise ValueError(
                f"TPUClusterResolver() got no name of a TPU, and the backend {unused().name!r} has no TPU; expected one or the "
                f'other. Ask for some: refdist.use("simulator", tpus=8).'
            )
        self._tpu = tpu or ""
        self._coordinator = (
            {coordinator_name: [coordinator_address]} if coordinator_name and coordinator_address else {}
        )
        self.task_type, self.task_id, self.rpc_layer = job_name, 0, "grpc"

    @staticmethod
    def connect(tpu: str | None = None, zone: str | None = None, project: str | None = None) -> "TPUClusterResolver":
        """Make a resolver and initialize its TPU system."""
        resolver = TPUClusterResolver(tpu, zone, project)
        initialize_tpu_system(resolver)
        return resolver

    def cluster_spec(self) -> ClusterSpec:
        """The hosts of the cores, at the addresses they are asked for by; none for "local"."""
        if self._tpu == "local":
            return ClusterSpec({})
        named = [one.removeprefix(_PROTOCOL) for one in self._tpu.split(",") if one.startswith(_PROTOCOL)]
        hosts = named or [f"localhost:{8470 + host}" for host in range(topology_of(current()).num_tasks)]
        return ClusterSpec({self.get_job_name(): hosts, **self._coordinator})

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        return "" if self._tpu == "local" else super().master(task_type, task_id, rpc_layer)

    def get_master(self) -> str:
        """The address of the first host."""
        return self.master()

    def get_job_name(self) -> str:
        """The name of the job of the hosts."""
        assert self.task_type is not None
        return self.task_type

    def num_accelerators(self, task_type: Any = None, task_id: Any = None, config_proto: Any = None) -> dict[str, int]:
        """How many cores each host has."""
        return {"TPU": topology_of(current()).num_tpus_per_task}


def initialize_tpu_system(cluster_resolver: TPUClusterResolver | None = None) -> Topology:
    """Return how the cores of the backend in use are arranged.

    >>> import refdist as tf
    >>> with tf.using("simulator", tpus=8):
    ...     tf.tpu.experimental.initialize_tpu_system().mesh_shape.tolist()
    [1, 2, 2, 2]
    """
    require_resolver(cluster_resolver, "initialize_tpu_system()")
    return topology_of(current())


def shutdown_tpu_system(cluster_resolver: TPUClusterResolver | None = None) -> None:
    """Do nothing, because virtual cores need no shutdown; raise if there are none."""
    require_resolver(cluster_resolver, "shutdown_tpu_system()")
    mesh_of(current())


def experimental_connect_to_cluster(
    cluster_spec_or_resolver: ClusterSpec | ClusterResolver,
    job_name: str = "localhost",
    task_index: int = 0,
    protocol: str | None = None,
    make_master_device_default: bool = True,
    cluster_device_filters: Any = None,
) -> None:
    """Do nothing, because all devices of the backend in use are already connected."""
    if not isinstance(cluster_spec_or_resolver, (ClusterSpec, ClusterResolver)):
        raise ValueError(
            f"experimental_connect_to_cluster() got a {type(cluster_spec_or_resolver).__name__}; expected a ClusterSpec or a "
            f"ClusterResolver. Pass one, for example tf.distribute.cluster_resolver.TPUClusterResolver(tpu='')."
        )


def mesh_of(backend: Backend) -> np.ndarray[Any, Any]:
    """The cores of a backend, as an array of the shape of their mesh."""
    mesh = _cores(backend)
    if not mesh.size:
        raise NotFoundError(
            f"The backend {backend.name!r} has no TPU; expected at least one core. Ask for some: "
            f'refdist.use("{backend.name}", tpus=8).'
        )
    return mesh


def _cores(backend: Backend) -> np.ndarray[Any, Any]:
    cores = capability(backend, LogicalDevices)
    return np.empty(0, object) if cores is None else cores.tpu_mesh()


def topology_of(backend: Backend) -> Topology:
    """How the cores of a backend are arranged, and which host has which of them."""
    mesh = mesh_of(backend)
    return whole_mesh(mesh.shape, hosts=len({(core.job, core.task) for core in mesh.flat}))


def require_resolver(resolver: Any, what: str) -> None:
    """Raise unless the resolver is that of a TPU system, or missing."""
    if resolver is not None and not isinstance(resolver, TPUClusterResolver):
        raise TypeError(
            f"{what} got a {type(resolver).__name__}; expected a tf.distribute.cluster_resolver.TPUClusterResolver. Make one with "
            f"tpu='', or leave it out."
        )
