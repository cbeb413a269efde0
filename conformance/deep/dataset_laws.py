"""Laws of distributed datasets: no example is lost, seen twice or moved, whatever the sizes are."""

import math
from typing import Any

import numpy as np
from hypothesis import strategies as drawn

from conformance.checks.datafn import distribute, steps_of
from conformance.checks.dataset import steps
from conformance.deep import Draw, deep
from conformance.deep.generators import NUMBERS, array, shapes, strategy
from conformance.world import World


@deep("DATASET-10")
def every_batch_is_shared_out_in_order_and_about_evenly(world: World, draw: Draw) -> None:
    chosen = strategy(world, draw)
    size, batch = draw("size", drawn.integers(1, 24)), draw("batch", drawn.integers(1, 12))
    dataset = world.tf.data.Dataset.range(size).batch(batch)

    found = steps(world, chosen, chosen.experimental_distribute_dataset(dataset))

    numbers = list(range(size))
    joined = [[number for part in step for number in part] for step in found]
    world.equal([numbers[start : start + batch] for start in range(0, size, batch)], joined, "examples of each step")
    largest = max(len(part) for step in found for part in step)
    world.true(largest <= math.ceil(batch / chosen.num_replicas_in_sync), f"parts of at most a share, not {largest}")


@deep("DATASET-36")
def partial_batches_of_any_size_are_filled_replica_by_replica(world: World, draw: Draw) -> None:
    chosen = strategy(world, draw)
    count, share = chosen.num_replicas_in_sync, draw("share", drawn.integers(1, 4))
    size = draw("size", drawn.integers(1, 3 * share * count))
    dataset = world.tf.data.Dataset.range(size).batch(share * count)

    found = steps(world, chosen, chosen.experimental_distribute_dataset(dataset))

    shares = [list(range(start, min(start + share, size))) for start in range(0, share * count * len(found), share)]
    world.equal([shares[start : start + count] for start in range(0, len(shares), count)], found)
    world.equal(math.ceil(size / (share * count)), len(found), "steps")


@deep("DATAFN-07")
def replicas_take_batches_in_turn(world: World, draw: Draw) -> None:
    chosen = strategy(world, draw)
    count = chosen.num_replicas_in_sync
    step_count, batch = draw("steps", drawn.integers(1, 4)), draw("batch", drawn.integers(1, 4))
    dataset = world.tf.data.Dataset.range(step_count * count * batch).batch(batch)

    found = steps_of(world, chosen, distribute(chosen, lambda _: dataset))

    world.equal(np.arange(step_count * count * batch).reshape(step_count, count, batch).tolist(), found)


@deep("NUMPY-05")
def elements_are_the_rows_of_every_array(world: World, draw: Draw) -> None:
    chosen = strategy(world, draw)
    size = draw("size", drawn.integers(1, 4))
    arrays = {
        name: draw(name, array((size, *draw(f"shape of {name}", shapes())), dtype))
        for name, dtype in (("a", NUMBERS[0]), ("b", NUMBERS[-1]))
    }

    elements: list[Any] = list(chosen.experimental_make_numpy_dataset((arrays["a"], {"b": arrays["b"]})))

    found = [(world.array(first), world.array(second["b"])) for first, second in elements]
    world.equal(list(zip(arrays["a"], arrays["b"], strict=True)), found)
