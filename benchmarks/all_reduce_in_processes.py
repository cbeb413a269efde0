"""Run by each worker: a staged all-reduce, beside the same written by hand with shard_map over jax.distributed, in turns."""

import json
import time

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import refdist as tf

SIZES = {"1 KB": 256, "1 MB": 1 << 18, "16 MB": 1 << 22}
ROUNDS = {"1 KB": 800, "1 MB": 120, "16 MB": 24}


def measured(strategy, size, rounds):
    """The microseconds of our call, of the layer alone around the same program, and of theirs, in each round."""
    replica = tf.distribute.get_replica_context

    @tf.function
    def ours(x):
        return strategy.run(lambda x: replica().all_reduce("SUM", x), args=(x,))

    mesh = Mesh(np.array(jax.devices(), object), ("replica",))
    spread = NamedSharding(mesh, PartitionSpec("replica"))

    @jax.jit
    @jax.shard_map(mesh=mesh, in_specs=PartitionSpec("replica"), out_specs=PartitionSpec("replica"), check_vma=False)
    def theirs(part):
        return jax.lax.psum(part, "replica")

    own = jax.device_put(np.ones(size, np.float32), jax.local_devices()[0])
    whole = jax.make_array_from_single_device_arrays((size * jax.device_count(),), spread, [own])
    peers = strategy.extended.plan.peers
    calls = {
        "ours": lambda: ours(own).block_until_ready(),
        "layer": lambda: peers.run(theirs, "a compiled program", [whole]).block_until_ready(),
        "theirs": lambda: theirs(whole).block_until_ready(),
        # What a loop by hand does, too, if it gets a new array in each step.
        "theirs, with the array": lambda: theirs(
            jax.make_array_from_single_device_arrays((size * jax.device_count(),), spread, [own])
        ).block_until_ready(),
    }
    seconds = {name: [] for name in calls}
    names = list(calls)
    for turn in range(rounds + 5):
        # Another one begins each round, the same on all workers, so that none always comes after the same neighbour.
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            before = time.perf_counter()
            calls[name]()
            if turn >= 5:
                seconds[name].append((time.perf_counter() - before) * 1e6)
    return seconds


def main():
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    found = {name: measured(strategy, size, ROUNDS[name]) for name, size in SIZES.items()}
    if not strategy.cluster_resolver.task_id:
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
