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
            self._spec.task_address(self.task_type, self.task_id)  # raises if there is no such task

    def cluster_spec(self) -> ClusterSpec:
        return self._spec


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
