"""Laws of reductions: they are sums and means of numpy, for every shape, type and number of replicas."""

from typing import Any

import numpy as np
from hypothesis import strategies as drawn

from conformance.deep import Draw, deep
from conformance.deep.generators import FLOATS, batches, one_array_per_replica, strategy
from conformance.world import World

TOLERANCE = 2e-3
"""The error that the division of a mean may cause in float16."""


@deep("REDUCE-04")
def sum_over_replicas_is_the_sum_of_the_stack(world: World, draw: Draw) -> None:
    chosen = strategy(world, draw)
    parts = one_array_per_replica(draw, chosen.num_replicas_in_sync)

    total = chosen.reduce(world.tf.distribute.ReduceOp.SUM, world.per_replica(chosen, parts), axis=None)

    world.equal(np.sum(parts, axis=0), total)
    world.equal(parts[0].dtype.name, world.array(total).dtype.name, "dtype")


@deep("REDUCE-06")
def mean_over_replicas_is_the_mean_of_the_stack(world: World, draw: Draw) -> None:
    chosen = strategy(world, draw)
    parts = one_array_per_replica(draw, chosen.num_replicas_in_sync, dtypes=FLOATS)

    mean = chosen.reduce(world.tf.distribute.ReduceOp.MEAN, world.per_replica(chosen, parts), axis=None)

    world.close(np.mean(parts, axis=0, dtype=np.float64), mean, tolerance=TOLERANCE)


@deep("REDUCE-09")
def sum_over_the_batch_is_that_of_all_examples(world: World, draw: Draw) -> None:
    chosen = strategy(world, draw)
    parts = batches(draw, chosen.num_replicas_in_sync)

    total = chosen.reduce(world.tf.distribute.ReduceOp.SUM, world.per_replica(chosen, parts), axis=0)

    world.equal(np.sum(np.concatenate(parts), axis=0), total)


@deep("REDUCE-10")
def mean_over_the_batch_is_that_of_all_examples(world: World, draw: Draw) -> None:
    chosen = strategy(world, draw)
    parts = batches(draw, chosen.num_replicas_in_sync, dtypes=FLOATS)

    mean = chosen.reduce(world.tf.distribute.ReduceOp.MEAN, world.per_replica(chosen, parts), axis=0)

    world.close(np.mean(np.concatenate(parts), axis=0, dtype=np.float64), mean, tolerance=TOLERANCE)


@deep("REDUCE-24")
def every_axis_can_be_summed_away(world: World, draw: Draw) -> None:
    chosen = strategy(world, draw)
    parts = one_array_per_replica(draw, chosen.num_replicas_in_sync, smallest_rank=1)
    axis = draw("axis", drawn.integers(0, parts[0].ndim - 1))

    total = chosen.reduce(world.tf.distribute.ReduceOp.SUM, world.per_replica(chosen, parts), axis=axis)

    world.equal(np.sum(parts, axis=(0, axis + 1)), total)


@deep("CTX-05")
def all_reduce_gives_every_replica_the_sum_of_each_part_of_a_nest(world: World, draw: Draw) -> None:
    chosen = strategy(world, draw)
    count = chosen.num_replicas_in_sync
    parts = one_array_per_replica(draw, count)

    def fn(value: Any) -> Any:
        context = world.tf.distribute.get_replica_context()
        return context.all_reduce(world.tf.distribute.ReduceOp.SUM, {"once": value, "twice": [value + value]})

    result = chosen.run(fn, args=(world.per_replica(chosen, parts),))

    total = np.sum(parts, axis=0)
    world.equal([total] * count, world.locals(chosen, result["once"]))
    world.equal([total + total] * count, world.locals(chosen, result["twice"][0]))
