"""ClusterSpec: the addresses of the tasks of a cluster."""

import json
from collections.abc import Mapping
from typing import Any

Jobs = Mapping[str, Any]


class ClusterSpec:
    """The tasks of each job, by address.

    The tasks are a list, or a dict from indices to addresses, which may leave some out.

    >>> ClusterSpec({"worker": ["localhost:1", "localhost:2"]}).num_tasks("worker")
    2
    >>> ClusterSpec({"worker": {1: "localhost:1", 3: "localhost:2"}}).task_indices("worker")
    [1, 3]
    """

    def __init__(self, cluster: "Jobs | ClusterSpec") -> None:
        jobs = cluster.as_dict() if isinstance(cluster, ClusterSpec) else cluster
        if not isinstance(jobs, Mapping):
            raise TypeError(
                f"ClusterSpec() got a {type(jobs).__name__}; expected a dict of jobs and their addresses, such as "
                f"{{'worker': ['localhost:12345']}}. Pass one."
            )
        self._jobs = {str(job): _tasks(str(job), tasks) for job, tasks in jobs.items()}

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._jobs)

    def as_dict(self) -> dict[str, list[str] | dict[int, str]]:
        """The addresses of each job: a list, or by index where some are left out."""
        return {job: list(tasks.values()) if _without_gaps(tasks) else dict(tasks) for job, tasks in self._jobs.items()}

    def num_tasks(self, job_name: str) -> int:
        """How many tasks a job has."""
        return len(self._tasks_of(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """The indices of the tasks of a job."""
        return list(self._tasks_of(job_name))

    def job_tasks(self, job_name: str) -> list[str | None]:
        """The addresses of a job, at their indices; None is at those that are left out."""
        tasks = self._tasks_of(job_name)
        return [tasks.get(index) for index in range(max(tasks, default=-1) + 1)]

    def _tasks_of(self, job_name: str) -> dict[int, str]:
        if job_name not in self._jobs:
            raise ValueError(
                f"The job {job_name!r} is not in the cluster; expected one of {', '.join(self._jobs) or 'none'}. Correct its name."
            )
        return self._jobs[job_name]

    def task_address(self, job_name: str, task_index: int) -> str:
        """The address of a task."""
        tasks = self._tasks_of(job_name)
        if task_index not in tasks:
            known = f"0 to {len(tasks) - 1}" if _without_gaps(tasks) else f"one of {', '.join(map(str, tasks))}"
            raise ValueError(f"The task is {task_index}; expected {known} in the job {job_name!r}. Correct its index.")
        return tasks[task_index]

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        return self._jobs == (other._jobs if isinstance(other, ClusterSpec) else other)

    def __hash__(self) -> int:
        return hash(json.dumps(self._jobs, sort_keys=True))

    def __repr__(self) -> str:
        return f"ClusterSpec({self.as_dict()!r})"


def _without_gaps(tasks: dict[int, str]) -> bool:
    return list(tasks) == list(range(len(tasks)))


def _tasks(job: str, tasks: Any) -> dict[int, str]:
    try:
        by_index = tasks if isinstance(tasks, Mapping) else dict(enumerate(tasks))
        found = {int(index): by_index[index] for index in sorted(by_index, key=int)}
    except (TypeError, ValueError):
        found = None
    if found is None or isinstance(tasks, str) or not all(isinstance(address, str) for address in found.values()):
        raise TypeError(
            f"The job {job!r} has the tasks {tasks!r}; expected a list of addresses such as 'host:port', or a dict of them by "
            f"index. Pass one."
        )
    return found
