"""The cluster of the pods of Kubernetes, as its server lists them."""

import enum
import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from refdist._core.clusters.cluster_spec import ClusterSpec
from refdist._core.clusters.resolvers import ClusterResolver


class KubernetesExecutableLocation(enum.Enum):
    """Where the program runs: in a pod of the cluster, or somewhere else."""

    WITHIN_CLUSTER = 0
    OFF_CLUSTER = 1


class KubernetesClusterResolver(ClusterResolver):
    """Finds the running pods of each job by their labels.

    It cannot tell which of them this process is: set `task_type` and `task_id`.
    """

    def __init__(
        self,
        job_to_label_mapping: Mapping[str, Sequence[str]] | None = None,
        tf_server_port: int = 8470,
        rpc_layer: str = "grpc",
        override_client: Any = None,
        executable_location: KubernetesExecutableLocation = KubernetesExecutableLocation.WITHIN_CLUSTER,
    ) -> None:
        if not isinstance(executable_location, KubernetesExecutableLocation):
            raise ValueError(
                f"KubernetesClusterResolver() got executable_location={executable_location!r}; expected a member of "
                f"tf.distribute.cluster_resolver.KubernetesExecutableLocation. Pass WITHIN_CLUSTER in a pod, else OFF_CLUSTER."
            )
        self._labels = _labels(job_to_label_mapping or {"worker": ["job-name=tensorflow"]})
        self._port, self.rpc_layer = tf_server_port, rpc_layer
        self._client = override_client or _client(executable_location)

    def cluster_spec(self) -> ClusterSpec:
        """The pods of each job, in the order of its labels and then of their names; asked for anew each time."""
        cluster = {job: [self._address(pod) for pod in self._pods(job)] for job in self._labels}
        every = [address for addresses in cluster.values() for address in addresses]
        twice = sorted({address for address in every if every.count(address) > 1})
        if twice:
            raise RuntimeError(
                f"Several pods have the addresses {twice}; expected one pod on each host, because a pod is reached at the address "
                f"of its host. Keep the pods apart with podAntiAffinity, and see that no two labels select the same pod."
            )
        return ClusterSpec(cluster)

    def _pods(self, job: str) -> list[Any]:
        found: list[Any] = []
        for label in self._labels[job]:
            pods = self._client.list_pod_for_all_namespaces(label_selector=label).items
            if not pods:
                raise RuntimeError(
                    f"The label {label!r} of the job {job!r} selects no pod; expected at least one. Correct it, or wait until the "
                    f"pods exist."
                )
            found += sorted(pods, key=lambda pod: pod.metadata.name)
        return found

    def _address(self, pod: Any) -> str:
        if pod.status.phase != "Running":
            raise RuntimeError(
                f"The pod {pod.metadata.name!r} is in the phase {pod.status.phase!r}; expected all pods with these labels to be "
                f"Running. Wait for it, or see why with kubectl describe pod {pod.metadata.name}."
            )
        return f"{pod.status.host_ip}:{self._port}"


def _labels(given: Any) -> dict[str, list[str]]:
    lists = isinstance(given, Mapping) and not any(isinstance(labels, str) for labels in given.values())
    if not lists:
        raise TypeError(
            f"KubernetesClusterResolver() got job_to_label_mapping={given!r}; expected a dict of jobs and lists of labels. Write "
            f"{{'worker': ['job-name=tensorflow']}}."
        )
    return {job: list(labels) for job, labels in given.items()}


def _client(location: KubernetesExecutableLocation) -> Any:
    """A client of the server of the cluster, with the credentials of a pod or of a user."""
    try:
        kubernetes: Any = importlib.import_module("kubernetes")
    except ImportError as error:
        raise ImportError(
            "KubernetesClusterResolver() got no override_client, and the package kubernetes is missing; expected one or the "
            "other. Run pip install kubernetes."
        ) from error
    if location is KubernetesExecutableLocation.WITHIN_CLUSTER:
        kubernetes.config.load_incluster_config()
    else:
        kubernetes.config.load_kube_config()
    return kubernetes.client.CoreV1Api()
