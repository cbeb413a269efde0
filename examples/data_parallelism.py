"""Draws one training step on four devices: python examples/data_parallelism.py docs/data_parallelism.svg"""

import sys
from typing import Any

import refdist as tf


def main(path: str) -> None:
    """Draw the step, print it, and save it."""
    tf.use("simulator", gpus=4)
    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        weight = tf.Variable(tf.zeros([3, 4]), name="weight")
        loss = tf.Variable(
            0.0,
            name="loss",
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.MEAN,
        )

    def step(x: Any, y: Any) -> None:
        replica = tf.distribute.get_replica_context()
        error = tf.matmul(x, weight) - y
        loss.assign_add(tf.reduce_mean(tf.square(error)))
        gradient = tf.matmul(tf.transpose(x), error) / 8.0
        weight.assign_sub(0.1 * replica.all_reduce("SUM", gradient))

    rows = tf.data.Dataset.from_tensor_slices((tf.ones([8, 3]), tf.ones([8, 4]))).batch(8)
    batch = next(iter(strategy.experimental_distribute_dataset(rows)))
    picture = strategy.draw(step, args=batch)
    print(picture)
    picture.save(path)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "data_parallelism.svg")
