"""The cluster of an instance group of Google Compute Engine."""

import importlib
from typing import Any

from refdist._core.clusters.cluster_spec import ClusterSpec
from refdist._core.clusters.resolvers import ClusterResolver


class GCEClusterResolver(ClusterResolver):
    """Lists the running instances of an instance group, as one job.

    It cannot tell which of them this process is: give each instance a `task_id` of its own.
    """

    def __init__(
        self,
        project: str,
        zone: str,
        instance_group: str,
        port: int,
        task_type: str = "worker",
        task_id: int = 0,
        rpc_layer: str = "grpc",
        credentials: Any = "default",
        service: Any = None,
    ) -> None:
        self._where = {"project": project, "zone": zone}
        self._group, self._port = instance_group, port
        self._service = _service(credentials) if service is None else service
        self._job = self.task_type = task_type
        self.task_id, self.rpc_layer = task_id, rpc_layer

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "task_type" and name in self.__dict__:
            raise RuntimeError(
                f"The task_type of a GCEClusterResolver was set to {value!r} after it was made; expected it to stay "
                f"{self.task_type!r}. Make another resolver."
            )
        super().__setattr__(name, value)

    def cluster_spec(self) -> ClusterSpec:
        """The addresses of the instances that run, sorted; asked for anew each time."""
        groups, addresses = self._service.instanceGroups(), []
        # TensorFlow calls the group `instanceGroups` here, which the client of Google refuses.
        request = groups.listInstances(
            **self._where, instanceGroup=self._group, body={"instanceState": "RUNNING"}, orderBy="name"
        )
        while request is not None:
            response = request.execute()
            # An answer about no instances has no items at all.
            addresses += [self._address(item["instance"]) for item in response.get("items", [])]
            request = groups.listInstances_next(previous_request=request, previous_response=response)
        if not addresses:
            raise RuntimeError(
                f"The instance group {self._group!r} has no running instance in {self._where}; expected at least this one. Correct "
                f"project, zone and instance_group, or start instances."
            )
        return ClusterSpec({self._job: sorted(addresses)})

    def _address(self, url: str) -> str:
        name = url.rsplit("/", 1)[-1]
        instance = self._service.instances().get(**self._where, instance=name).execute()
        return f"{instance['networkInterfaces'][0]['networkIP']}:{self._port}"


def _service(credentials: Any) -> Any:
    """A client of Compute Engine; by default with the credentials that Google's libraries find by themselves."""
    try:
        discovery: Any = importlib.import_module("googleapiclient.discovery")
    except ImportError as error:
        raise ImportError(
            "GCEClusterResolver() got no service, and the package googleapiclient is missing; expected one or the other. Run pip "
            "install google-api-python-client."
        ) from error
    return discovery.build("compute", "v1", credentials=None if credentials == "default" else credentials)
