"""What JAX finds out about the cluster that a scheduler has started this process in."""

import contextlib
import dataclasses
import os
import warnings
from collections.abc import Generator, Mapping
from typing import Any

from jax._src import clusters  # what jax.distributed.initialize() asks; JAX has no public name for it

# By the names under which messages speak of them. JAX asks mpi4py only when told to, because that starts MPI; we never do.
_CLUSTERS: Mapping[str, tuple[Any, ...]] = {
    "Open MPI": (clusters.OmpiCluster,),
    "SLURM": (clusters.SlurmCluster,),
    "Cloud TPU": (clusters.GkeTpuCluster, clusters.GceTpuCluster),
    "Kubernetes": (clusters.K8sCluster,),
}


@dataclasses.dataclass(frozen=True, slots=True)
class Detected:
    """What JAX says: where worker 0 is, unless it is alone, and which of how many this process is."""

    coordinator: str | None
    index: int
    count: int
    local_index: int | None


def detected(
    scheduler: str, environ: Mapping[str, str], coordinator: str | None, timeout_seconds: int
) -> Detected | None:
    """Ask JAX about one kind of cluster; None if this process is not in one. A given coordinator is not asked for."""
    with _as_environment(environ), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is missing is said in our words
        for cluster in _CLUSTERS[scheduler]:
            if cluster.is_env_present():
                return _answers(cluster, environ, coordinator, timeout_seconds)
    return None


def _answers(cluster: Any, environ: Mapping[str, str], coordinator: str | None, timeout_seconds: int) -> Detected:
    count, index, local_index = cluster.get_process_count(), cluster.get_process_id(), cluster.get_local_process_id()
    if coordinator is None and count > 1:
        port = environ.get("JAX_COORDINATOR_PORT")
        coordinator = cluster.get_coordinator_address(timeout_secs=timeout_seconds, override_coordinator_port=port)
    return Detected(coordinator, index, count, local_index)


@contextlib.contextmanager
def _as_environment(environ: Mapping[str, str]) -> Generator[None]:
    """Let JAX, which reads os.environ, see these variables; usually they are the same."""
    before = dict(os.environ)
    if dict(environ) == before:
        yield
        return
    _become(environ)
    try:
        yield
    finally:
        _become(before)


def _become(environ: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environ)
