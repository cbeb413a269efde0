"""Server: the place of a task in a cluster whose tasks are all played in this process."""

from typing import Any

from refdist._core.clusters.cluster_spec import ClusterSpec


class Server:
    """Stands for a running task of a cluster; what the task is asked to do is done in this process.

    >>> Server({"worker": ["localhost:1"]}, job_name="worker", task_index=0).target
    'grpc://localhost:1'
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
        spec = ClusterSpec(server_or_cluster_def)
        if job_name is None and len(spec.jobs) == 1:
            job_name = spec.jobs[0]
        if job_name is not None and task_index is None and spec.jobs == [job_name] and spec.num_tasks(job_name) == 1:
            task_index = 0
        if job_name not in spec.jobs or task_index not in spec.task_indices(job_name):
            raise ValueError(
                f"Server() got job_name={job_name!r} and task_index={task_index!r}; expected a task of {spec.as_dict()}. Name one "
                f"of these."
            )
        self.server_def = {"cluster": spec.as_dict(), "job_name": job_name, "task_index": task_index}
        self._target = f"{protocol or 'grpc'}://{spec.task_address(job_name, task_index)}"

    @property
    def target(self) -> str:
        """The address at which the task would be asked."""
        return self._target

    def start(self) -> None:
        """Do nothing, because there is nothing to wait for."""

    def join(self) -> None:
        """Refuse to wait for ever, which a process of its own would do here."""
        raise RuntimeError(
            f"join() of the server at {self._target} was called; expected a coordinator in this process, which plays all tasks, "
            f"because a server by itself has nobody to ask it. Leave join() out, and run the program of the coordinator only."
        )

    @staticmethod
    def create_local_server(config: Any = None, start: bool = True) -> "Server":
        """Make the only task of a cluster of one."""
        return Server({"local": ["localhost:0"]}, start=start)
