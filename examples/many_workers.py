"""Train a small model on many workers; the same file runs alone, on workers that one process plays, and in a process each.

python examples/many_workers.py                                              # alone
refdist launch --workers 2 --devices-per-worker 2 examples/many_workers.py   # two processes
"""

import os
from typing import Any

import numpy as np

import refdist as tf


def main(folder: str | None = None, steps: int = 6) -> None:
    """Train, and print what every worker sees; go on from the last checkpoint of the folder, if there is one."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()

    inputs = np.random.default_rng(1).normal(size=(46, 3)).astype(np.float32)
    targets = inputs @ np.array([1.0, -2.0, 0.5], np.float32) + np.float32(0.3)
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    dataset = tf.data.Dataset.from_tensor_slices((inputs, targets)).batch(16).repeat().with_options(options)
    batches = iter(strategy.experimental_distribute_dataset(dataset))

    with strategy.scope():
        weights, bias = tf.Variable(tf.zeros([3])), tf.Variable(0.0)
        done = tf.Variable(0, dtype=tf.int64)
        seen = tf.Variable(
            0.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM
        )
    checkpoint = tf.train.Checkpoint(weights=weights, bias=bias, done=done, seen=seen, batches=batches)
    manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2) if folder else None
    if manager is not None:
        manager.restore_or_initialize()

    def replica_step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            error = tf.linalg.matvec(x, weights) + bias - y
            loss = tf.nn.compute_average_loss(error * error, global_batch_size=16)
        gradients = tape.gradient(loss, [weights, bias])
        for variable, gradient in zip(
            [weights, bias], tf.distribute.get_replica_context().all_reduce("SUM", gradients), strict=True
        ):
            variable.assign_sub(0.1 * gradient)
        seen.assign_add(tf.cast(tf.shape(x)[0], tf.float32))
        return loss

    @tf.function
    def step(x: Any, y: Any) -> Any:
        return strategy.reduce("SUM", strategy.run(replica_step, args=(x, y)), axis=None)

    while done.numpy() < steps:
        loss = step(*next(batches))
        done.assign_add(1)
        print(f"step {done.numpy()}: loss {float(loss):.5f}", flush=True)
        if manager is not None:
            manager.save()  # all workers call it, and one of them writes
    numbers = ", ".join(f"{number:.4f}" for number in [*weights.numpy(), bias.numpy()])
    print(f"weights and bias {numbers}; {seen.numpy():.0f} samples")


if __name__ == "__main__":
    main(os.environ.get("CHECKPOINTS"))
