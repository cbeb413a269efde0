"""`tf.distribute.Server`: says who a process is; nothing is served, because all workers run in one process."""

import importlib
from typing import Any, Never

from refdist._core.base.errors import InternalError
from refdist._core.clusters.cluster_spec import ClusterSpec


class Server:
    """A task of a cluster, as its process sees itself.

    >>> import refdist as tf
    >>> tf.distribute.Server({"worker": ["localhost:1234"]}).target
    'grpc://localhost:1234'
    """

    def __init__(
        self,
        server_or_cluster_def: Any,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: Any = None,
        start: bool = True,
    ) -> None:
        cluster = _cluster(server_or_cluster_def)
        given = server_or_cluster_def if hasattr(server_or_cluster_def, "job_name") else None
        job = job_name or (given.job_name if given is not None else None)
        if job is None:
            if len(cluster.jobs) != 1:
                raise ValueError(
                    f"Server() got no job_name, and a cluster of {', '.join(cluster.jobs)}; expected the job of this process. Pass "
                    f"job_name= and task_index=."
                )
            job = cluster.jobs[0]
        task = task_index if task_index is not None else given.task_index if given is not None else 0
        try:
            self._address = cluster.task_address(job, int(task))
        except ValueError as error:
            raise InternalError(str(error)) from error
        self._protocol = protocol or (given.protocol if given is not None else "") or "grpc"
        self._server_def = message("ServerDef")(
            cluster=cluster_def(cluster), job_name=job, task_index=int(task), protocol=self._protocol
        )

    @staticmethod
    def create_local_server(config: Any = None, start: bool = True) -> "Server":
        """Make the server of a cluster of one process."""
        return Server({"localhost": ["localhost:0"]}, "localhost", 0)

    @property
    def server_def(self) -> Any:
        """The cluster, and which of its tasks this is."""
        return self._server_def

    @property
    def target(self) -> str:
        """The address that sessions would connect to."""
        return f"{self._protocol}://{self._address}"

    def start(self) -> None:
        """Do nothing: workers run in the process of the coordinator."""

    def join(self) -> Never:
        """Refuse to wait for work that nobody sends."""
        raise RuntimeError(
            f"join() of the server of task {self._server_def.task_index} of job {self._server_def.job_name!r} was called; expected "
            f"one process, because the coordinator runs the workers and parameter servers in its own. Start the program for the "
            f"chief only."
        )


def _cluster(given: Any) -> ClusterSpec:
    found = getattr(given, "cluster", given)  # of a ServerDef
    if hasattr(found, "job"):  # a ClusterDef
        return ClusterSpec({job.name: dict(job.tasks) for job in found.job})
    return ClusterSpec(found)


def cluster_def(cluster: ClusterSpec) -> Any:
    """The protocol message of a cluster."""
    made = message("ClusterDef")()
    for name in sorted(cluster.jobs):
        job = made.job.add(name=name)
        for index in cluster.task_indices(name):
            job.tasks[index] = cluster.task_address(name, index)
    return made


def message(name: str) -> Any:
    """The class of a protocol message, which takes a while to load."""
    return importlib.import_module("refdist._core.files.messages").message(name)
