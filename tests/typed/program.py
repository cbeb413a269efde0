"""A program of a user's, which has to pass a strict type checker: see the `include` of basedpyright in pyproject.toml."""

from collections.abc import Iterator

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
    assert replica is not None
    gradient = 2.0 * tf.reduce_mean(weight * x - 3.0)
    weight.assign_sub(0.1 * replica.all_reduce(tf.distribute.ReduceOp.MEAN, gradient))
    seen.assign_add(tf.cast(tf.size(x), tf.float32))
    return tf.square(gradient)


@tf.function
def train(x: object) -> object:
    return strategy.reduce("MEAN", strategy.run(step, args=(x,)), axis=None)


def batches() -> Iterator[object]:
    dataset = tf.data.Dataset.from_tensor_slices(np.ones(8, np.float32)).repeat(4).batch(4)
    yield from strategy.experimental_distribute_dataset(dataset)


def main() -> None:
    for batch in batches():
        train(batch)
    checkpoint = tf.train.Checkpoint(weight=weight)
    print(float(weight), float(seen), checkpoint, tf.keras is not None)


if __name__ == "__main__":
    main()
