"""A program of a user's, which has to pass strict type checkers: see tests/test_types.py."""

from collections.abc import Iterator
from typing import Any

import numpy as np

import refdist as tf

tf.use("simulator", gpus=2)
strategy = tf.distribute.MirroredStrategy(cross_device_ops=tf.distribute.NcclAllReduce())

with strategy.scope():
    weight = tf.Variable(0.0, aggregation=tf.VariableAggregation.MEAN)
    seen = tf.Variable(
        0.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM, trainable=False
    )


def step(x: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> object:
    replica = tf.distribute.get_replica_context()
    gradient = 2.0 * tf.reduce_mean(weight * x - 3.0)
    weight.assign_sub(0.1 * replica.all_reduce(tf.distribute.ReduceOp.MEAN, gradient))
    seen.assign_add(tf.cast(tf.size(x), tf.float32))
    return tf.square(gradient)


@tf.function
def train(x: object) -> object:
    return strategy.reduce("MEAN", strategy.run(step, args=(x,)), axis=None)


@tf.function(reduce_retracing=True)
def scaled(x: tf.Tensor, by: float = 2.0) -> Any:
    return -x * by + weight / 2 - weight**2 @ np.ones((1, 1), np.float32)


class Model(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bias = tf.Variable(tf.zeros([2]), name="bias")

    @tf.function
    def predict(self, x: tf.Tensor) -> Any:
        return tf.nn.relu(x + self.bias)


def batches() -> Iterator[object]:
    dataset = tf.data.Dataset.from_tensor_slices(np.ones(8, np.float32)).repeat(4).batch(4).prefetch(tf.data.AUTOTUNE)
    yield from strategy.experimental_distribute_dataset(dataset)


def choose(name: str, options: dict[str, Any]) -> None:
    tf.use(name, gpus=2, numerics="check")
    tf.use("mine", **options)
    with tf.using("jax", cpus=4) as backend, tf.device("CPU:0"):
        print(backend.devices())
    star = tf.simulator.Cluster.star(4, bandwidth_bytes_per_second=1e9, latency_seconds=1e-6)
    with tf.using("simulator", cluster=star, algorithm="ring"):
        print(tf.simulator.now())


def whereabouts() -> None:
    replica = tf.distribute.get_replica_context()
    if replica is None:
        print(tf.distribute.get_strategy().num_replicas_in_sync)
    else:
        print(replica.strategy.extended.worker_devices, replica.replica_id_in_sync_group + 1)


def late_names(values: tf.distribute.DistributedValues) -> list[Any]:
    layer = tf.keras.layers.Dense(2)
    print(layer, tf.conformance.find, tf.testing.journal, tf.compat.v1.train.AdamOptimizer)
    return [
        tf.math.bincount([1, 1]),
        tf.math.reduce_max(values, axis=0, keepdims=True),
        tf.image.flip_left_right(np.ones((1, 2, 3))),
        tf.linalg.trace(tf.eye(2)),
        tf.strings.upper("a"),
        tf.train.latest_checkpoint("there"),
        tf.cond(True, lambda: 1, lambda: 2),
        tf.maximum(1, 2, name="larger"),
    ]


def main() -> None:
    for batch in batches():
        train(batch)
    print(scaled(tf.constant(1.0), by=3.0), Model().predict(tf.ones([2])), train.get_concrete_function(1.0))
    checkpoint = tf.train.Checkpoint(weight=weight)
    print(float(weight), float(seen), weight > 0.0, checkpoint, tf.__version__)


if __name__ == "__main__":
    main()
