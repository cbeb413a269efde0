"""Cluster resolvers: which tasks a cluster has, and which of them this process is."""

import abc
import json
import os
from typing import Any

from refdist._core.backends.choosing import current
from refdist._core.clusters.cluster_spec import ClusterSpec


class ClusterResolver(abc.ABC):
    """Tells what the cluster is, and which of its tasks this process is."""

    task_type: str | None = None
    task_id: int | None = None
    rpc_layer: str | None = None
    environment: str | None = ""

    @abc.abstractmethod
    def cluster_spec(self) -> ClusterSpec:
        """The cluster."""

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """The address of a task: this one, unless another is named."""
        job, task = task_type or self.task_type, self.task_id if task_id is None else task_id
        if job is None or task is None:
            return ""
        return _url(self.cluster_spec().task_address(job, task), rpc_layer or self.rpc_layer)

    def num_accelerators(self, task_type: Any = None, task_id: Any = None, config_proto: Any = None) -> dict[str, int]:
        """How many accelerators of each kind this task has."""
        devices = current().devices()
        kinds = [device.kind for device in devices if device.kind != "CPU" and device.beside(devices[0])]
        return {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}


def require_cluster_resolver(resolver: Any, what: str) -> None:
    """Raise unless a cluster resolver says what the cluster is."""
    if not isinstance(resolver, ClusterResolver):
        raise TypeError(
            f"{what} got cluster_resolver={resolver!r}; expected a tf.distribute.cluster_resolver.ClusterResolver. Make one, such "
            f"as TFConfigClusterResolver()."
        )


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
            return _url(self._master, rpc_layer or self.rpc_layer)
        return super().master(task_type, task_id, rpc_layer)

    def num_accelerators(self, task_type: Any = None, task_id: Any = None, config_proto: Any = None) -> dict[str, int]:
        """What was given; the accelerators of the machine are not counted."""
        return dict(self._accelerators or {})


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
        self._session_master = config.get("session_master")
        job, index = task.get("type") if task_type is None else task_type, task.get("index")
        self.task_type = None if job is None else str(job)
        self.task_id = _index(index if task_id is None else task_id)
        self.rpc_layer = rpc_layer or config.get("rpc_layer")
        self.environment = environment
        if self._spec and self.task_type is not None and self.task_id is not None:
            self._spec.task_address(self.task_type, self.task_id)  # raises if there is no such task

    def cluster_spec(self) -> ClusterSpec:
        return self._spec

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """The `session_master` of TF_CONFIG; else the address of a task, or "" where the cluster has no other."""
        if self._session_master is not None:
            return self._session_master
        if sum(self._spec.num_tasks(job) for job in self._spec.jobs) <= 1:
            return ""
        return super().master(task_type, task_id, rpc_layer)


class UnionResolver(ClusterResolver):
    """Joins the clusters of several resolvers; everything else is what the first of them says."""

    def __init__(self, *args: ClusterResolver, **kwargs: Any) -> None:
        unknown = sorted(set(kwargs) - {"task_type", "task_id", "rpc_layer"})
        if unknown or not args:
            raise ValueError(
                f"UnionResolver() got {len(args)} resolvers and the arguments {unknown}; expected at least one resolver, and no "
                f"arguments but task_type, task_id and rpc_layer. Write UnionResolver(first, second)."
            )
        wrong = [type(one).__name__ for one in args if not isinstance(one, ClusterResolver)]
        if wrong:
            raise TypeError(
                f"UnionResolver() got a {wrong[0]}; expected objects of classes derived from tf.distribute.cluster_resolver."
                f"ClusterResolver. Pass resolvers only."
            )
        self._resolvers = args
        self.task_type = kwargs.get("task_type", args[0].task_type)
        self.task_id = kwargs.get("task_id", args[0].task_id)
        self.rpc_layer = kwargs.get("rpc_layer", args[0].rpc_layer)
        self.environment = args[0].environment

    def cluster_spec(self) -> ClusterSpec:
        """The jobs of all; a job that several have gets the tasks of all, counted on unless they are given by index."""
        specs = [one.cluster_spec().as_dict() for one in self._resolvers]
        return ClusterSpec(
            {
                job: _joined(job, [spec[job] for spec in specs if job in spec])
                for job in dict.fromkeys(job for spec in specs for job in spec)
            }
        )

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        if task_type is None or task_id is None:
            return self._resolvers[0].master()
        return super().master(task_type, task_id, rpc_layer)

    def num_accelerators(self, task_type: Any = None, task_id: Any = None, config_proto: Any = None) -> dict[str, int]:
        """What the first resolver says."""
        return self._resolvers[0].num_accelerators(task_type, task_id, config_proto)


def _joined(job: str, parts: list[list[str] | dict[int, str]]) -> list[str] | dict[int, str]:
    if all(isinstance(part, list) for part in parts):
        return [address for part in parts for address in part if isinstance(address, str)]
    joined: dict[int, str] = {}
    for part in parts:
        tasks = dict(enumerate(part)) if isinstance(part, list) else part
        twice = sorted(joined.keys() & tasks.keys())
        if twice:
            raise KeyError(
                f"Several resolvers have the tasks {twice} of the job {job!r}; expected each index once, because indices were "
                f"left out. Give the tasks other indices."
            )
        joined |= tasks
    return joined


def _url(address: str, layer: str | None) -> str:
    return f"{layer}://{address}" if layer else address


def _index(given: Any) -> int | None:
    try:
        return None if given is None else int(given)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"The index of the task is {given!r}; expected a whole number, such as 0 or '0'. Correct it in TF_CONFIG."
        ) from error


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


class ScheduledClusterResolver(SimpleClusterResolver):
    """A cluster as its scheduler tells it: only the address of the first worker is known."""

    def __init__(self, coordinator: str, index: int, count: int, told_by: str) -> None:
        workers = {number: coordinator if number == 0 else f"worker-{number}" for number in range(count)}
        super().__init__(ClusterSpec({"worker": workers}), task_type="worker", task_id=index)
        self.coordinator, self.told_by = coordinator, told_by

    def num_accelerators(self, task_type: Any = None, task_id: Any = None, config_proto: Any = None) -> dict[str, int]:
        return ClusterResolver.num_accelerators(self)
