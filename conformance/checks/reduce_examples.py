"""Strategy.reduce: the outcomes of the documented examples, and the places that belong to one strategy."""

from typing import Any

import numpy as np

from conformance.checks import check
from conformance.checks.reduce import batch, partial_batch
from conformance.world import World


@check("REDUCE-11", replicas=(2, 3, 8))
def a_mean_of_means_weighs_the_smaller_part_more(world: World) -> None:
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        parts = world.per_replica(strategy, partial_batch(strategy))
        means = strategy.run(world.tf.reduce_mean, args=(parts,))
        *full, last = partial_batch(strategy)
        # With two replicas the weights are 1/8 and 1/4; with one weight for every example it would be the true mean.
        weighed = np.sum(full) / (4 * count) + np.sum(last) / (2 * count)

        result = strategy.reduce(world.tf.distribute.ReduceOp.MEAN, means, axis=None)
        world.close(weighed, result)
        true_mean = np.mean(np.concatenate(partial_batch(strategy)))
        world.true(abs(float(world.array(result)) - true_mean) > 0.1, f"another value than {true_mean}, the true mean")


@check("REDUCE-17", replicas=(16,), needs=("tpu",))
def tpu_results_are_on_the_first_host(world: World) -> None:
    strategy = world.strategy("TPU")
    total = strategy.reduce("SUM", strategy.run(lambda: world.tf.constant(world.replica_id())), axis=None)

    hosts = sorted({device.rpartition("/device:")[0] for device in strategy.extended.worker_devices})
    # Sixteen cores are more than one host has.
    world.true(len(hosts) > 1, f"more than one host in {hosts}")
    world.equal(f"{hosts[0]}/device:CPU:0", world.device(total))
    world.true("/task:0/" in world.device(total), "the first task of the job")
    world.equal(120, total)


@check("REDUCE-18", replicas=(1, 2), needs=("multi_worker",))
def each_worker_finds_the_result_on_its_own_cpu(world: World) -> None:
    def program(strategy: Any, _: int) -> tuple[str, int]:
        ids = strategy.run(lambda: world.tf.constant(world.replica_id()))
        total = strategy.reduce("SUM", ids, axis=None)
        return world.device(total), int(world.array(total))

    for index, (device, total) in enumerate(world.workers(2, program, replicas=world.replicas)):
        world.equal(f"/job:worker/replica:0/task:{index}/device:CPU:0", device)
        world.equal(sum(range(2 * world.replicas)), total, f"the sum that worker {index} finds")


@check("REDUCE-19")
def the_sum_of_replica_ids_prints_as_an_int32_scalar(world: World) -> None:
    for strategy in world.each():
        total = strategy.reduce("SUM", strategy.run(_own_id, args=(world,)), axis=None)

        expected = sum(range(strategy.num_replicas_in_sync))
        world.equal(f"<tf.Tensor: shape=(), dtype=int32, numpy={expected}>", world.text(total))


@check("REDUCE-20")
def the_sum_of_replica_ids_is_on_the_local_cpu(world: World) -> None:
    for strategy in world.each():
        ids = strategy.run(_own_id, args=(world,))
        total = strategy.reduce("SUM", ids, axis=None)

        before = [world.device(part) for part in strategy.experimental_local_results(ids)]
        world.equal([world.full(name) for name in world.names()], before)
        world.equal("/job:localhost/replica:0/task:0/device:CPU:0", world.device(total))
        world.equal(sum(range(strategy.num_replicas_in_sync)), total)


@check("REDUCE-26")
def losses_of_the_replicas_are_averaged_for_a_report(world: World) -> None:
    for strategy in world.each():
        losses = strategy.run(lambda: world.tf.constant(2.0 * world.replica_id() + 1))

        average = strategy.reduce(world.tf.distribute.ReduceOp.MEAN, losses, axis=None)
        # The mean of the first n odd numbers is n; it is reported as a Python number.
        world.equal(float(strategy.num_replicas_in_sync), float(average))


@check("REDUCE-27", replicas=(1, 2, 8), needs=("data",))
def a_global_batch_is_divided_into_neighbouring_examples(world: World) -> None:
    for strategy in world.each():
        dataset = world.tf.data.Dataset.range(8).batch(8)
        batches = list(strategy.experimental_distribute_dataset(dataset))

        size = 8 // strategy.num_replicas_in_sync
        world.equal(1, len(batches))
        expected = [list(range(start, start + size)) for start in range(0, 8, size)]
        world.equal(expected, world.locals(strategy, batches[0]))


@check("REDUCE-28", needs=("data",))
def reduced_values_add_up_to_the_result_of_an_epoch(world: World) -> None:
    tensor_type = type(world.tf.constant(0.0))
    for strategy in world.each():
        whole = np.concatenate([batch(strategy), batch(strategy), batch(strategy)]).ravel()
        dataset = world.tf.data.Dataset.from_tensor_slices(whole.astype(np.float32)).batch(whole.size // 3)

        total_result = 0
        for part in strategy.experimental_distribute_dataset(dataset):
            per_replica_result = strategy.run(world.tf.reduce_sum, args=(part,))
            total_result += strategy.reduce(world.tf.distribute.ReduceOp.SUM, per_replica_result, axis=None)

        world.true(isinstance(total_result, tensor_type), f"a tensor, not a {type(total_result).__name__}")
        world.equal(np.sum(whole), total_result)


def _own_id(world: World) -> object:
    """Do as the step function of the documented example."""
    return world.tf.identity(world.tf.distribute.get_replica_context().replica_id_in_sync_group)
