"""experimental_distribute_dataset: how each batch is divided among the replicas of a worker."""

import math
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from conformance.checks import check
from conformance.checks.dataset import steps, write_records
from conformance.world import World


@check("DATASET-09", needs=("data",))
def the_batch_of_the_dataset_is_that_of_all_replicas_together(world: World) -> None:
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        dataset = world.tf.data.Dataset.range(8 * count).batch(4 * count)
        parts = steps(world, strategy, strategy.experimental_distribute_dataset(dataset))

        world.equal([[4] * count] * 2, [list(map(len, step)) for step in parts], "examples by step and replica")


@check("DATASET-10", needs=("data",))
def each_batch_is_divided_over_all_replicas(world: World) -> None:
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        dataset = world.tf.data.Dataset.range(4 * count).batch(2 * count)

        expected = np.arange(4 * count).reshape(2, count, 2).tolist()
        world.equal(expected, steps(world, strategy, strategy.experimental_distribute_dataset(dataset)))


@check("DATASET-11", replicas=(2, 3, 8), needs=("data",))
def an_element_holds_one_global_batch_in_replica_order(world: World) -> None:
    for strategy in world.each():
        table = np.arange(12 * world.replicas, dtype=np.float32).reshape(6 * world.replicas, 2)
        dataset = world.tf.data.Dataset.from_tensor_slices(table).batch(2 * world.replicas)
        elements = list(strategy.experimental_distribute_dataset(dataset))

        world.equal(3, len(elements), "elements")
        for element, batch in zip(elements, dataset, strict=True):
            distributed = isinstance(element, world.tf.distribute.DistributedValues)
            world.true(distributed, f"a DistributedValues, not a {type(element).__name__}")
            world.equal(world.replicas, len(strategy.experimental_local_results(element)), "parts")
            rows = [row for part in world.locals(strategy, element) for row in part.tolist()]
            world.equal(world.array(batch).tolist(), rows)


@check("DATASET-12", needs=("data",))
def the_batch_size_is_divided_by_the_replica_count(world: World) -> None:
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        for size in (1, 2, 8):
            dataset = world.tf.data.Dataset.range(2 * size * count).batch(size * count)
            parts = steps(world, strategy, strategy.experimental_distribute_dataset(dataset))

            sizes = [list(map(len, step)) for step in parts]
            world.equal([[size] * count] * 2, sizes, f"a global batch of {size * count}")


@check("DATASET-13", replicas=(2,), needs=("data", "function"))
def example_doubles_a_range_on_two_replicas(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        dataset = tf.data.Dataset.range(4).batch(2)
        dist_dataset = strategy.experimental_distribute_dataset(dataset)

        @tf.function
        def replica_fn(value: Any) -> Any:
            return value * 2

        result = [strategy.run(replica_fn, args=(x,)) for x in dist_dataset]

        world.equal([[[0], [2]], [[4], [6]]], [world.locals(strategy, pair) for pair in result])
        pairs = [
            f"PerReplica:{{\n"
            f"  0: <tf.Tensor: shape=(1,), dtype=int64, numpy=array([{first}])>,\n"
            f"  1: <tf.Tensor: shape=(1,), dtype=int64, numpy=array([{second}])>\n"
            f"}}"
            for first, second in ((0, 2), (4, 6))
        ]
        world.equal(f"[{', '.join(pairs)}]", world.text(result))


@check("DATASET-25", needs=("data",))
def batches_are_split_even_if_sharding_is_off(world: World) -> None:
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        dataset = with_policy(world, world.tf.data.Dataset.range(2 * count).batch(count), "OFF")

        expected = np.arange(2 * count).reshape(2, count, 1).tolist()
        world.equal(expected, steps(world, strategy, strategy.experimental_distribute_dataset(dataset)))


@check("DATASET-26", replicas=(1,), needs=("data",))
def one_replica_gets_the_plain_batch(world: World) -> None:
    for strategy in world.each():
        dataset = world.tf.data.Dataset.range(6).batch(4)
        elements = list(strategy.experimental_distribute_dataset(dataset))

        for element in elements:
            plain = not isinstance(element, world.tf.distribute.DistributedValues)
            world.true(plain, f"the plain batch, not a {type(element).__name__}")
        world.equal([[0, 1, 2, 3], [4, 5]], list(map(world.array, elements)))
        doubled = [strategy.run(lambda x: x * 2, args=(element,)) for element in elements]
        world.equal([[0, 2, 4, 6], [8, 10]], list(map(world.array, doubled)))


@check("DATASET-28", needs=("data",))
def one_machine_sees_all_elements_under_every_policy(world: World) -> None:
    with TemporaryDirectory() as folder:
        files = write_records(world, folder, sizes=(8, 8))
        records = [record for content in files.values() for record in content]
        for strategy in world.each():
            for policy in ("AUTO", "FILE", "DATA", "OFF"):
                numbers = with_policy(world, world.tf.data.Dataset.range(16).batch(8), policy)
                world.equal(list(range(16)), _seen(world, strategy, numbers), f"numbers under {policy}")
                read = with_policy(world, world.tf.data.TFRecordDataset(list(files)).batch(8), policy)
                world.equal(records, _seen(world, strategy, read), f"records under {policy}")


@check("DATASET-29", replicas=(2, 3, 8), needs=("data",))
def one_element_for_each_replica_is_prefetched(world: World) -> None:
    tf = world.tf
    kept: list[Any] = []
    for strategy in world.each():
        pulled: list[int] = []

        def numbers(pulled: list[int] = pulled) -> Any:
            for number in range(10 * world.replicas**2):
                pulled.append(number)
                yield number

        examples = tf.data.Dataset.from_generator(numbers, output_signature=tf.TensorSpec((), tf.int64))
        distributed = strategy.experimental_distribute_dataset(examples.batch(world.replicas))
        # To learn the type of the elements, some may have been looked at.
        pulled.clear()
        iterator = iter(distributed)
        # Step by step, because what reads ahead may need a while to fill its buffer.
        for step in range(1, 9):
            next(iterator)
            ahead = len(pulled) - step * world.replicas
            world.true(ahead >= 0, f"{step} batches pulled, not {len(pulled)} examples of them")
            world.true(ahead <= world.replicas**2, f"{world.replicas} batches ahead at most, not {ahead} examples")
        kept.append(distributed)
    for distributed in kept:
        world.equal(f"prefetch({world.replicas})", world.stages(distributed)[-1], "the last step")


@check("DATASET-30", replicas=(2, 3, 8), needs=("data",))
def rebatching_and_prefetching_are_added_in_this_order(world: World) -> None:
    for strategy in world.each():
        dataset = world.tf.data.Dataset.range(4 * world.replicas).batch(2 * world.replicas)
        distributed = strategy.experimental_distribute_dataset(dataset)

        expected = np.arange(4 * world.replicas).reshape(2, world.replicas, 2).tolist()
        world.equal(expected, steps(world, strategy, distributed))
        # Nothing is sharded, for there is one worker only.
        world.equal(["rebatch", "prefetch"], [stage.split("(")[0] for stage in world.stages(distributed)])


@check("DATASET-33", needs=("data",))
def the_order_of_the_data_is_kept(world: World) -> None:
    for strategy in world.each("Mirrored", "CentralStorage", "CentralStorage.v1"):
        count = strategy.num_replicas_in_sync
        numbers = world.tf.data.Dataset.range(12 * count)

        expected = np.arange(12 * count).reshape(6, count, 2).tolist()
        for distributed in (
            strategy.experimental_distribute_dataset(numbers.batch(2 * count)),
            strategy.distribute_datasets_from_function(lambda _, numbers=numbers: numbers.batch(2)),
        ):
            world.equal(expected, steps(world, strategy, distributed))


@check("DATASET-36", replicas=(2, 3, 8), needs=("data",))
def a_last_partial_batch_is_filled_replica_by_replica(world: World) -> None:
    for strategy in world.each():
        # With two replicas this is the documented batch of 6 where 8 would be full.
        full, last = 4 * world.replicas, 3 * world.replicas
        dataset = world.tf.data.Dataset.range(full + last).batch(full)
        parts = steps(world, strategy, strategy.experimental_distribute_dataset(dataset))

        numbers = list(range(full, full + last))
        world.equal(2, len(parts), "elements")
        world.equal(np.arange(full).reshape(world.replicas, 4).tolist(), parts[0])
        world.equal([numbers[start : start + 4] for start in range(0, full, 4)], parts[1])


@check("DATASET-37", needs=("data",))
def a_last_partial_batch_does_not_fail(world: World) -> None:
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        dataset = world.tf.data.Dataset.range(5).batch(2)
        results: list[Any] = []
        for x in strategy.experimental_distribute_dataset(dataset):
            result = strategy.run(lambda val: val + 1, args=(x,))
            results.append([part.tolist() for part in world.locals(strategy, result)])

        # A replica for which nothing is left has an empty part.
        size = math.ceil(2 / count)
        starts = range(0, size * count, size)
        world.equal([[batch[at : at + size] for at in starts] for batch in ([1, 2], [3, 4], [5])], results)


@check("DATASET-38", replicas=(2, 3, 8), needs=("data",))
def single_examples_cannot_be_split(world: World) -> None:
    for strategy in world.each():
        scalars = world.tf.data.Dataset.range(2 * world.replicas)
        with world.raises():
            list(strategy.experimental_distribute_dataset(scalars))
        # The pages send the reader to this method then.
        distributed = strategy.experimental_distribute_datasets_from_function(lambda _, scalars=scalars: scalars)
        world.equal(np.arange(2 * world.replicas).reshape(2, -1).tolist(), steps(world, strategy, distributed))


@check("DATASET-41", needs=("data",))
def nested_elements_are_split_component_by_component(world: World) -> None:
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        images = np.arange(24 * count, dtype=np.float32).reshape(4 * count, 3, 2)
        labels = np.arange(4 * count, dtype=np.int32)
        dataset = world.tf.data.Dataset.from_tensor_slices((images, labels)).batch(2 * count)
        seen: list[Any] = []

        def fn(element: Any, seen: list[Any] = seen) -> None:
            world.true(type(element) is tuple, f"a tuple, not a {type(element).__name__}")
            seen.append([world.array(component) for component in element])

        for x in strategy.experimental_distribute_dataset(dataset):
            strategy.run(fn, args=(x,))

        rows = [slice(start, start + 2) for start in range(0, 4 * count, 2)]
        world.equal([[images[some], labels[some]] for some in rows], seen)


def with_policy(world: World, dataset: Any, policy: str) -> Any:
    """Let a dataset be shared out over workers in the way that a member of AutoShardPolicy names."""
    options = world.tf.data.Options()
    options.experimental_distribute.auto_shard_policy = getattr(world.tf.data.experimental.AutoShardPolicy, policy)
    return dataset.with_options(options)


def _seen(world: World, strategy: Any, dataset: Any) -> list[Any]:
    """Distribute a dataset, and list all examples in the order of steps and replicas."""
    parts = steps(world, strategy, strategy.experimental_distribute_dataset(dataset))
    return [example for step in parts for part in step for example in part]
