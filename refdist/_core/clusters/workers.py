"""Clusters: who the workers are, which of them this is, and running all of them together in one process."""

import abc
import contextlib
import contextvars
import json
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from refdist._core.backends.choosing import current
from refdist._core.base.call_sites import call_site
from refdist._core.base.where import HERE, entered
from refdist._core.devices.device import Device
from refdist._core.replicas.lockstep import Meeting, pause, play
from refdist._core.seam.capabilities import Clustered, required

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


class ClusterResolver(abc.ABC):
    """Says what the cluster is, and which task of it this process is."""

    task_type: str | None = None
    task_id: int | None = None
    rpc_layer: str | None = None
    environment: str = ""

    @abc.abstractmethod
    def cluster_spec(self) -> ClusterSpec:
        """The cluster."""

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """The address of a task: this one, unless another is named."""
        job, task = task_type or self.task_type, self.task_id if task_id is None else task_id
        if job is None or task is None:
            return ""
        layer = rpc_layer or self.rpc_layer
        address = self.cluster_spec().task_address(job, task)
        return f"{layer}://{address}" if layer else address

    def num_accelerators(self, task_type: Any = None, task_id: Any = None, config_proto: Any = None) -> dict[str, int]:
        """How many accelerators of each kind this task has."""
        devices = current().devices()
        kinds = [device.kind for device in devices if device.kind != "CPU" and device.beside(devices[0])]
        return {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}


class SimpleClusterResolver(ClusterResolver):
    """Takes everything as it is given."""

    def __init__(
        self,
        cluster_spec: ClusterSpec,
        master: str = "",
        task_type: str | None = None,
        task_id: int | None = None,
        environment: str = "",
        num_accelerators: dict[str, int] | None = None,
        rpc_layer: str | None = None,
    ) -> None:
        if not isinstance(cluster_spec, ClusterSpec):
            raise TypeError(
                f"SimpleClusterResolver() got a {type(cluster_spec).__name__}; expected a tf.train.ClusterSpec. Make one of it."
            )
        self._spec, self._master, self._accelerators = cluster_spec, master, num_accelerators
        self.task_type, self.task_id, self.environment, self.rpc_layer = task_type, task_id, environment, rpc_layer

    def cluster_spec(self) -> ClusterSpec:
        return self._spec

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        if self._master and task_type is None and task_id is None:
            return self._master
        return super().master(task_type, task_id, rpc_layer)

    def num_accelerators(self, task_type: Any = None, task_id: Any = None, config_proto: Any = None) -> dict[str, int]:
        return super().num_accelerators() if self._accelerators is None else dict(self._accelerators)


class TFConfigClusterResolver(ClusterResolver):
    """Reads the cluster from the environment variable TF_CONFIG."""

    def __init__(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
        environment: str | None = None,
    ) -> None:
        config = _tf_config()
        task = config.get("task", {})
        self._spec = ClusterSpec(config.get("cluster", {}))
        self.task_type = task.get("type") if task_type is None else task_type
        self.task_id = task_id if task_id is not None else (int(task["index"]) if "index" in task else None)
        self.rpc_layer = rpc_layer or config.get("rpc_layer")
        self.environment = environment or config.get("environment", "")
        if self._spec and self.task_type is not None and self.task_id is not None:
            self._spec.task_address(self.task_type, self.task_id)  # raises where there is no such task

    def cluster_spec(self) -> ClusterSpec:
        return self._spec


def run_workers(program: Callable[[int], Any], count: int) -> list[Any]:
    """Run a program once for each of several workers, in lockstep and in this process, and return what each returned.

    Each worker has its own TF_CONFIG, and its own devices: `/job:worker/replica:0/task:1/device:GPU:0` and so on, of the
    kinds and numbers of the backend in use. Strategies of several workers meet the others; workers that do not come to
    the same call are an error that names them.
    """
    if not callable(program) or not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise ValueError(
            f"run_workers() got {program!r} and count={count!r}; expected a function of the worker's number, and how many workers "
            f"there are, at least 1. Write run_workers(program, 2)."
        )
    cluster = {"worker": [f"localhost:{20_000 + index}" for index in range(count)]}
    backends = [
        required(current(), Clustered, "run_workers()").for_task("worker", index, count) for index in range(count)
    ]

    def body(index: int) -> Any:
        with entered(backend=backends[index], with_workers=True):
            return program(index)

    @contextlib.contextmanager
    def resumed(index: int, paused: contextvars.Context | None) -> Generator[None]:
        # Where a backend computes is not known to greenlets, and a worker may pause where it has chosen a device.
        device = None if paused is None else paused[HERE].device
        config = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}})
        with _environment(config), backends[index].on(device):
            yield

    return play(count, body, name=lambda index: f"worker {index} of {count}", noun="worker", scope=resumed)


def together() -> bool:
    """Say whether the workers of this program run together, so that they can meet."""
    return HERE.get().with_workers


def exchange(kind: str, payloads: Sequence[Any]) -> list[Any]:
    """Give what this worker's replicas bring to all workers, and get what all replicas bring, in their order."""
    if not together():
        raise RuntimeError(
            f"{kind} needs all workers, and this one runs alone; expected them to run together. Run the program of all workers "
            f"with refdist.cluster.run_workers(program, count)."
        )
    return pause(Meeting(kind, None, _joined, None, list(payloads), call_site(pausing=True)))


def require_own_worker(device: Device) -> None:
    """Raise where workers run together, but use a strategy that none of them has made."""
    if together() and device.job == "localhost":
        raise RuntimeError(
            "A multi-worker strategy that was made outside run_workers() is used inside; expected one that the worker's program "
            "makes, because this one knows of no other workers. Make it in the program."
        )


def _joined(_: Any, lists: Sequence[list[Any]]) -> list[list[Any]]:
    everything = [payload for one in lists for payload in one]
    return [everything] * len(lists)


@contextlib.contextmanager
def _environment(config: str) -> Generator[None]:
    before = os.environ.get("TF_CONFIG")
    os.environ["TF_CONFIG"] = config
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("TF_CONFIG", None)
        else:
            os.environ["TF_CONFIG"] = before


def _tf_config() -> dict[str, Any]:
    text = os.environ.get("TF_CONFIG", "") or "{}"
    try:
        config = json.loads(text)
        if not isinstance(config, dict) or not isinstance(config.get("task", {}), dict):
            raise ValueError("it is no object")
        return config
    except ValueError as error:
        raise ValueError(
            f"TF_CONFIG is {text[:200]!r} ({error}); expected JSON such as {{'cluster': {{'worker': ['host:port']}}, 'task': "
            f"{{'type': 'worker', 'index': 0}}}}. Correct the variable."
        ) from error


def _addresses(job: str, tasks: Any) -> list[str]:
    values = list(tasks.values()) if isinstance(tasks, Mapping) else tasks
    if isinstance(values, str) or not isinstance(values, Sequence) or not all(isinstance(one, str) for one in values):
        raise TypeError(
            f"The job {job!r} has the tasks {tasks!r}; expected a list of addresses such as 'host:port'. Pass one."
        )
    return list(values)
