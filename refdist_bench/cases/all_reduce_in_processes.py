"""Run by each worker: a staged all-reduce, beside the same written by hand with shard_map over jax.distributed, in turns.

`refdist launch --workers 2 -m refdist_bench.cases.all_reduce_in_processes 1024 800` prints the seconds of 800 rounds of 1024 bytes.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import refdist as tf

WARM_ROUNDS = 5


def measured(strategy: Any, size: int, rounds: int) -> dict[str, list[float]]:
    """Return the seconds of our call, of the layer alone around the same program, and of theirs, in each round."""
    replica: Callable[[], Any] = tf.distribute.get_replica_context

    @tf.function
    def ours(x: Any) -> Any:
        return strategy.run(lambda x: replica().all_reduce("SUM", x), args=(x,))

    mesh = Mesh(np.array(jax.devices(), object), ("replica",))
    spread = NamedSharding(mesh, PartitionSpec("replica"))

    @jax.jit
    @jax.shard_map(mesh=mesh, in_specs=PartitionSpec("replica"), out_specs=PartitionSpec("replica"), check_vma=False)
    def theirs(part: Any) -> Any:
        return jax.lax.psum(part, "replica")

    own = jax.device_put(np.ones(size // 4, np.float32), jax.local_devices()[0])

    def whole() -> Any:
        return jax.make_array_from_single_device_arrays((size // 4 * jax.device_count(),), spread, [own])

    there = whole()
    peers = strategy.extended.plan.peers
    calls: dict[str, Callable[[], Any]] = {
        "ours": lambda: ours(own).block_until_ready(),
        "layer": lambda: peers.run(theirs, "a compiled program", [there]).block_until_ready(),
        "theirs": lambda: theirs(there).block_until_ready(),
        # What a loop by hand does, too, if it gets a new array in each step.
        "theirs, with the array": lambda: theirs(whole()).block_until_ready(),
    }
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    names = list(calls)
    for turn in range(rounds + WARM_ROUNDS):
        # Another one begins each round, the same on all workers, so that none always comes after the same neighbour.
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            before = time.perf_counter()
            calls[name]()
            if turn >= WARM_ROUNDS:
                seconds[name].append(time.perf_counter() - before)
    return seconds


def main(size: int, rounds: int) -> None:
    """Measure, and let the first worker print what it found."""
    strategy: Any = tf.distribute.MultiWorkerMirroredStrategy()
    found = measured(strategy, size, rounds)
    if not strategy.cluster_resolver.task_id:
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
