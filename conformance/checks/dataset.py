"""experimental_distribute_dataset: what it takes, and what can be done with what it returns."""

import inspect
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from conformance.checks import check
from conformance.expectations import CheckFailed
from conformance.world import World


@check("DATASET-01", replicas=(1, 2), needs=("data",))
def a_dataset_is_the_only_argument_that_must_be_given(world: World) -> None:
    for strategy in world.each():
        method = strategy.experimental_distribute_dataset
        # The same class had an optional argument more in later versions; nothing else may be added.
        later = "options" in inspect.signature(method).parameters
        world.signature(method, ["dataset", ("options", None)] if later else ["dataset"])
        dataset = world.tf.data.Dataset.range(4).batch(2)

        expected = [[0, 1], [2, 3]]
        for distributed in (method(dataset), method(dataset=dataset)):
            world.equal(expected, [_joined(step) for step in steps(world, strategy, distributed)])


@check("DATASET-02", needs=("data",))
def input_options_are_optional(world: World) -> None:
    for strategy in world.each():
        method = strategy.experimental_distribute_dataset
        world.signature(method, ["dataset", ("options", None)])
        count = strategy.num_replicas_in_sync
        dataset = world.tf.data.Dataset.range(6 * count).batch(2 * count)
        options = world.tf.distribute.InputOptions()

        expected = _in_pairs(count, step_count=3)
        for distributed in (method(dataset), method(dataset, None), method(dataset, options=options)):
            world.equal(expected, steps(world, strategy, distributed))


@check("DATASET-03", needs=("data",))
def an_ordinary_dataset_is_shared_out_over_all_replicas(world: World) -> None:
    source = world.tf.data.Dataset
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        datasets = {
            "range": source.range(6 * count),
            "slices": source.from_tensor_slices(np.arange(6 * count)),
            "mapped": source.range(6 * count).map(lambda x: x + 0),
            "chained": source.range(3 * count).concatenate(source.range(3 * count, 6 * count)),
        }
        for name, dataset in datasets.items():
            parts = steps(world, strategy, strategy.experimental_distribute_dataset(dataset.batch(2 * count)))
            shares = [_joined(step[index] for step in parts) for index in range(count)]

            world.equal([6] * count, list(map(len, shares)), f"examples of each replica, {name}")
            world.equal(list(range(6 * count)), sorted(_joined(shares)), f"examples of all replicas, {name}")


@check("DATASET-04", needs=("data",))
def what_is_returned_is_iterated_like_a_dataset_of_per_replica_values(world: World) -> None:
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        dataset = world.tf.data.Dataset.range(4 * count).batch(2 * count)
        elements = list(strategy.experimental_distribute_dataset(dataset))

        world.equal(len(list(dataset)), len(elements), "elements")
        for element, expected in zip(elements, _in_pairs(count, step_count=2), strict=True):
            # A value of one replica is the plain value.
            distributed = isinstance(element, world.tf.distribute.DistributedValues)
            world.true(distributed or count == 1, f"a per-replica value, not a {type(element).__name__}")
            world.equal(expected, world.locals(strategy, element))


@check("DATASET-05", needs=("data",))
def returns_a_distributed_dataset(world: World) -> None:
    kind = world.tf.distribute.DistributedDataset
    for strategy in world.each():
        dataset = world.tf.data.Dataset.range(8).batch(8)
        distributed = strategy.experimental_distribute_dataset(dataset)

        world.true(isinstance(distributed, kind), f"a DistributedDataset, not a {type(distributed).__name__}")
        world.true(not isinstance(dataset, kind), "an ordinary dataset that is no DistributedDataset")


@check("DATASET-06", needs=("data",))
def can_be_iterated_again_and_again_to_the_end(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        whole, own = tf.data.Dataset.range(6 * count).batch(2 * count), tf.data.Dataset.range(6 * count).batch(2)
        routes = [strategy.experimental_distribute_dataset(whole)]
        if count == 1:
            # The page of OneDeviceStrategy promises it for both ways to distribute a dataset.
            routes.append(strategy.experimental_distribute_datasets_from_function(lambda _, own=own: own))
        expected = _in_pairs(count, step_count=3)
        for distributed in routes:
            world.equal(expected, steps(world, strategy, distributed), "the first loop")
            world.equal(expected, steps(world, strategy, distributed), "the second loop")
            iterator, other = iter(distributed), iter(distributed)

            world.equal(expected[0], world.locals(strategy, next(iterator)))
            world.equal(expected[1], world.locals(strategy, next(iterator)))
            world.equal(expected[0], world.locals(strategy, next(other)), "an iterator of its own")
            world.equal(expected[2], world.locals(strategy, next(iterator)))
            with world.raises(StopIteration):
                next(iterator)


@check("DATASET-07", needs=("data",))
def takes_no_further_transformations(world: World) -> None:
    transformations: dict[str, tuple[Any, ...]] = {
        "map": (lambda x: x,),
        "filter": (lambda _: True,),
        "batch": (2,),
        "shuffle": (2,),
        "repeat": (2,),
        "take": (1,),
        "shard": (2, 0),
    }
    for strategy in world.each():
        dataset = world.tf.data.Dataset.range(16).batch(8)
        for distributed in (
            strategy.experimental_distribute_dataset(dataset),
            strategy.experimental_distribute_datasets_from_function(lambda _, dataset=dataset: dataset),
        ):
            for name, args in transformations.items():
                # Which error is not documented: a method that does not exist is one, too.
                with world.raises():
                    getattr(distributed, name)(*args)


@check("DATASET-08", needs=("data",))
def offers_iteration_and_the_type_spec_only(world: World) -> None:
    dataset = world.tf.data.Dataset.range(16).batch(8)
    for strategy in world.each():
        distributed = strategy.experimental_distribute_dataset(dataset)

        world.equal(["element_spec"], sorted(_public(distributed) & _public(dataset)), "names that a dataset has too")
        world.equal(2, len(list(distributed)), "elements")
        world.true(distributed.element_spec is not None, "a type spec of the elements")


@check("DATASET-14", needs=("data",))
def example_reads_all_records_of_four_files(world: World) -> None:
    with TemporaryDirectory() as folder:
        files = write_records(world, folder, sizes=(3, 4, 2, 3))
        for strategy in world.each():
            count = strategy.num_replicas_in_sync
            dataset = world.tf.data.TFRecordDataset(list(files)).batch(2 * count)
            sizes: list[int] = []

            def replica_fn(records: Any, sizes: list[int] = sizes) -> Any:
                sizes.append(int(records.shape[0]))
                return records

            seen: list[bytes] = []
            for x in strategy.experimental_distribute_dataset(dataset):
                for part in world.locals(strategy, strategy.run(replica_fn, args=(x,))):
                    seen += part.tolist()

            world.equal(12, sum(sizes), "records that reached a replica")
            world.equal(_joined(files.values()), seen)


@check("DATASET-31", needs=("data",))
def element_spec_is_the_type_of_its_elements(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        # The last batch is smaller, so that the spec must leave the size open.
        distributed = strategy.experimental_distribute_dataset(tf.data.Dataset.range(5).batch(2))
        spec, single = distributed.element_spec, tf.TensorSpec((None,), tf.int64)

        if count == 1:
            world.equal(single, spec)
        else:
            world.equal(f"PerReplicaSpec({', '.join([world.text(single)] * count)})", world.text(spec))
        world.true(not spec.is_compatible_with(tf.constant([[1.5]])), "a spec that other values do not fit")
        for element in distributed:
            world.true(spec.is_compatible_with(element), f"{spec} that fits {element}")

        pairs = {"x": np.arange(5, dtype=np.float32), "y": np.arange(10, dtype=np.int32).reshape(5, 2)}
        nested = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(pairs).batch(2))
        for element in nested:
            for key, part in nested.element_spec.items():
                world.true(part.is_compatible_with(element[key]), f"{part} that fits {element[key]}")


@check("DATASET-34", needs=("data",))
def outputs_can_be_put_in_order_by_an_index(world: World) -> None:
    inputs = np.array([5, 3, 8, 1, 9, 2, 7, 4, 6, 0, 3, 5], np.float32)
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        dataset = world.tf.data.Dataset.from_tensor_slices(inputs).enumerate().batch(2 * count)
        outputs: dict[int, float] = {}
        for element in strategy.experimental_distribute_dataset(dataset):
            index, output = strategy.run(lambda index, x: (index, x * x + 1), args=element)
            for keys, values in zip(world.locals(strategy, index), world.locals(strategy, output), strict=True):
                outputs.update(zip(keys.tolist(), values.tolist(), strict=True))

        world.equal(list(range(len(inputs))), sorted(outputs), "the indices seen")
        world.equal((inputs * inputs + 1).tolist(), [outputs[index] for index in sorted(outputs)])


@check("DATASET-35", needs=("data",))
def a_stateful_transformation_does_no_harm_to_the_rest(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        random = tf.data.Dataset.range(4 * count).map(lambda x: (x, tf.random.uniform(())))
        whole, own = random.batch(2 * count), random.batch(2)
        try:
            routes = [
                list(strategy.experimental_distribute_dataset(whole)),
                list(strategy.distribute_datasets_from_function(lambda _, own=own: own)),
            ]
        except Exception as error:
            raise CheckFailed("a warning at most", repr(error)) from error
        for elements in routes:
            # Nothing is promised of the random numbers but that they are there.
            draws = [draw for _, drawn in elements for part in world.locals(strategy, drawn) for draw in part.tolist()]

            world.equal(_in_pairs(count, step_count=2), [world.locals(strategy, x) for x, _ in elements])
            world.equal(4 * count, len(draws), "random numbers")
            world.true(all(0 <= draw < 1 for draw in draws), f"draws from 0 to 1, {draws}")


@check("DATASET-39", needs=("data",))
def every_epoch_of_a_training_loop_starts_from_the_first_batch(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        with strategy.scope():

            def distribute_train_epoch(dataset: Any, strategy: Any = strategy) -> list[float]:
                results: list[float] = []
                for x in dataset:
                    per_replica_result = strategy.run(lambda x: tf.reduce_sum(x) * 2, args=(x,))
                    result = strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica_result, axis=None)
                    results.append(float(world.array(result)))
                return results

            dataset = tf.data.Dataset.from_tensor_slices(np.arange(6 * count, dtype=np.float32)).batch(2 * count)
            dist_dataset = strategy.experimental_distribute_dataset(dataset)
            epochs = [distribute_train_epoch(dist_dataset) for _ in range(3)]

        batches = np.split(np.arange(6 * count), 3)
        world.equal([[float(batch.sum() * 2) for batch in batches]] * 3, epochs)


@check("DATASET-40", needs=("data",))
def the_steps_of_a_custom_loop_follow_each_other_without_conversion(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        numbers = np.arange(1, 4 * count + 1, dtype=np.float32)

        def own(context: Any, numbers: Any = numbers) -> Any:
            size = context.get_per_replica_batch_size(2 * context.num_replicas_in_sync)
            return tf.data.Dataset.from_tensor_slices(numbers).batch(size)

        ordinary = tf.data.Dataset.from_tensor_slices(numbers).batch(2 * count)
        _expect_total(world, strategy, strategy.experimental_distribute_dataset(ordinary))
        _expect_total(world, strategy, strategy.experimental_distribute_datasets_from_function(own))
        from_numpy = strategy.experimental_make_numpy_dataset(numbers).batch(2 * count)
        _expect_total(world, strategy, strategy.experimental_distribute_dataset(from_numpy))


def steps(world: World, strategy: Any, distributed: Any) -> list[list[list[Any]]]:
    """Iterate over a distributed dataset to its end, and return the examples by step and by replica."""
    return [[part.tolist() for part in world.locals(strategy, element)] for element in distributed]


def write_records(world: World, folder: str, sizes: tuple[int, ...]) -> dict[str, list[bytes]]:
    """Write files with so many records each, and return the records by file; each names its file."""
    files: dict[str, list[bytes]] = {}
    for number, size in enumerate(sizes):
        path = str(Path(folder) / f"{number}.tfr")
        files[path] = [f"{number}/{index}".encode() for index in range(size)]
        with world.tf.io.TFRecordWriter(path) as writer:
            for record in files[path]:
                writer.write(record)
    return files


def _in_pairs(count: int, step_count: int) -> list[list[list[int]]]:
    """List the numbers from 0 on by step and by replica, two for each."""
    return np.arange(2 * count * step_count).reshape(step_count, count, 2).tolist()


def _joined(lists: Any) -> list[Any]:
    return [entry for one in lists for entry in one]


def _public(value: Any) -> set[str]:
    return {name for name in dir(value) if not name.startswith("_")}


def _expect_total(world: World, strategy: Any, distributed: Any) -> None:
    """Add up all examples in a custom loop, which are the numbers from 1 to four times the replica count."""
    tf = world.tf
    total: Any = 0
    for x in distributed:
        per_replica = strategy.run(tf.reduce_sum, args=(x,))
        result = strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica, axis=None)
        world.true(isinstance(result, type(tf.constant(0.0))), f"an ordinary tensor, not a {type(result).__name__}")
        total += world.array(result)
    last = 4 * strategy.num_replicas_in_sync

    world.equal(last * (last + 1) / 2, total)
