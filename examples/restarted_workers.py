"""Train on several workers, and go on from the last checkpoint after one of them has died.

refdist launch --workers 2 --restart 1 examples/restarted_workers.py --folder /tmp/points --crash-at 14

Worker 0 kills itself before step 15 of the first attempt; the losses are those of a training without a crash, which is what
`python examples/restarted_workers.py` is, in one process with 4 devices.
"""

import argparse
import os
import signal
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

import refdist as tf

BATCH = 24


def made_data(examples: int = 96, inputs: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Draw points, and a number for each that depends on it linearly."""
    generator = np.random.default_rng(0)
    points = generator.normal(size=(examples, inputs)).astype(np.float32)
    return points, (points @ np.arange(1, inputs + 1) - 0.5).astype(np.float32)


def train(strategy: Any, folder: str, *, steps: int, crash_at: int | None = None) -> Iterator[tuple[int, float]]:
    """Train for some steps, from the last checkpoint if there is one; yields the number and the loss of each."""
    with strategy.scope():
        weight, bias = tf.Variable(tf.zeros([3])), tf.Variable(0.0)
        done = tf.Variable(0, dtype=tf.int64)
    dataset = tf.data.Dataset.from_tensor_slices(made_data()).batch(BATCH).repeat()
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    batches = iter(strategy.experimental_distribute_dataset(dataset.with_options(options)))
    checkpoint = tf.train.Checkpoint(weight=weight, bias=bias, done=done, batches=batches)
    manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
    manager.restore_or_initialize()

    def replica_step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((tf.linalg.matvec(x, weight) + bias - y) ** 2) / BATCH
        gradients = tape.gradient(loss, [weight, bias])
        gradients = tf.distribute.get_replica_context().all_reduce("SUM", gradients)
        for variable, gradient in zip((weight, bias), gradients, strict=True):
            variable.assign_sub(0.1 * gradient)
        return loss

    @tf.function
    def step(x: Any, y: Any) -> Any:
        return strategy.reduce("SUM", strategy.run(replica_step, args=(x, y)), axis=None)

    while (number := int(done.numpy())) < steps:
        if number == crash_at and os.environ.get("REFDIST_ATTEMPT") == "0" and is_chief(strategy):
            os.kill(os.getpid(), signal.SIGKILL)
        yield number, float(step(*next(batches)))
        done.assign_add(1)
        if (number + 1) % 5 == 0:
            manager.save()


def is_chief(strategy: Any) -> bool:
    """Say whether this is the worker that writes for all."""
    resolver = strategy.cluster_resolver
    return resolver is None or not resolver.task_id


def main() -> None:
    parser = argparse.ArgumentParser(description="Train on several workers, and go on after a crash.")
    parser.add_argument("--folder", help="where checkpoints are kept; else nowhere")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--crash-at", type=int, metavar="STEP", help="kill worker 0 there, in the first attempt")
    options = parser.parse_args()

    strategy: tf.distribute.Strategy
    if "TF_CONFIG" in os.environ:
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
    else:
        tf.use("jax", cpus=4)
        strategy = tf.distribute.MirroredStrategy([f"CPU:{index}" for index in range(4)])
    with tempfile.TemporaryDirectory() as own:
        for number, loss in train(strategy, options.folder or own, steps=options.steps, crash_at=options.crash_at):
            if is_chief(strategy) and number % 4 == 3:
                print(f"step {number + 1:3}  loss {loss:8.5f}", flush=True)


if __name__ == "__main__":
    main()
