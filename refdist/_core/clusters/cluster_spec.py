"""ClusterSpec: the addresses of the tasks of a cluster."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

Jobs = Mapping[str, Any]


class ClusterSpec:
    """The tasks of each job, by address.

    >>> ClusterSpec({"worker": ["localhost:1", "localhost:2"]}).num_tasks("worker")
    2
    """

    def __init__(self, cluster: "Jobs | ClusterSpec") -> None:
        jobs = cluster.as_dict() if isinstance(cluster, ClusterSpec) else cluster
        if not isinstance(jobs, Mapping):
            raise TypeError(
                f"ClusterSpec() got a {type(jobs).__name__}; expected a dict of jobs and their addresses, such as "
                f"{{'worker': ['localhost:12345']}}. Pass one."
            )
        self._jobs = {str(job): _addresses(str(job), tasks) for job, tasks in jobs.items()}

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._jobs)

    def as_dict(self) -> dict[str, list[str]]:
        """The addresses of each job."""
        return {job: list(tasks) for job, tasks in self._jobs.items()}

    def num_tasks(self, job_name: str) -> int:
        """How many tasks a job has."""
        return len(self.job_tasks(job_name))

    def job_tasks(self, job_name: str) -> list[str]:
        """The addresses of a job."""
        if job_name not in self._jobs:
            raise ValueError(
                f"The job {job_name!r} is not in the cluster; expected one of {', '.join(self._jobs) or 'none'}. Correct its name."
            )
        return list(self._jobs[job_name])

    def task_address(self, job_name: str, task_index: int) -> str:
        """The address of a task."""
        tasks = self.job_tasks(job_name)
        if not 0 <= task_index < len(tasks):
            raise ValueError(
                f"The task is {task_index}; expected 0 to {len(tasks) - 1} in the job {job_name!r}. Correct it."
            )
        return tasks[task_index]

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    def __hash__(self) -> int:
        return hash(json.dumps(self._jobs, sort_keys=True))

    def __repr__(self) -> str:
        return f"ClusterSpec({self._jobs!r})"


def _addresses(job: str, tasks: Any) -> list[str]:
    values = list(tasks.values()) if isinstance(tasks, Mapping) else tasks
    if isinstance(values, str) or not isinstance(values, Sequence) or not all(isinstance(one, str) for one in values):
        raise TypeError(
            f"The job {job!r} has the tasks {tasks!r}; expected a list of addresses such as 'host:port'. Pass one."
        )
    return list(values)
