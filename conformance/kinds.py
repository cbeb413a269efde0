"""How to build each kind of strategy, in documented names only."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Builder = Callable[[Any, list[str]], Any]
"""Takes the documented namespace and the names of the replica devices."""


def tpu_strategy(tf: Any, replicas: int, computation_shape: Sequence[int] = (1, 1, 1, 1)) -> Any:
    """Build a TPUStrategy as the pages do it, each replica with a block of cores of this shape."""
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="")
    tf.config.experimental_connect_to_cluster(resolver)
    topology = tf.tpu.experimental.initialize_tpu_system(resolver)
    assignment = tf.tpu.experimental.DeviceAssignment.build(
        topology, computation_shape=list(computation_shape), num_replicas=replicas
    )
    return tf.distribute.TPUStrategy(resolver, experimental_device_assignment=assignment)


def parameter_server_strategy(tf: Any) -> Any:
    """Build a ParameterServerStrategy in the coordinator of a cluster with two workers and two servers."""
    jobs = {"chief": ["localhost:1"], "worker": ["localhost:2", "localhost:3"], "ps": ["localhost:4", "localhost:5"]}
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec(jobs), task_type="chief", task_id=0, rpc_layer="grpc"
    )
    return tf.distribute.ParameterServerStrategy(resolver)


BUILDERS: Mapping[str, Builder] = {
    "Default": lambda tf, _: tf.distribute.get_strategy(),
    "OneDevice": lambda tf, names: tf.distribute.OneDeviceStrategy(names[0]),
    "OneDevice.v1": lambda tf, names: tf.compat.v1.distribute.OneDeviceStrategy(names[0]),
    "Mirrored": lambda tf, names: tf.distribute.MirroredStrategy(names),
    "Mirrored.v1": lambda tf, names: tf.compat.v1.distribute.MirroredStrategy(names),
    "CentralStorage": lambda tf, names: tf.distribute.experimental.CentralStorageStrategy(
        compute_devices=names, parameter_device="CPU:0"
    ),
    "CentralStorage.v1": lambda tf, names: tf.compat.v1.distribute.experimental.CentralStorageStrategy(
        compute_devices=names, parameter_device="CPU:0"
    ),
    "ParameterServer": lambda tf, _: parameter_server_strategy(tf),
    "TPU": lambda tf, names: tpu_strategy(tf, len(names)),
}

ONE_REPLICA = frozenset({"Default", "OneDevice", "OneDevice.v1", "ParameterServer"})
"""The kinds that have one replica, whatever is asked for."""
