"""OneDeviceStrategy: everything on a single device."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from conformance.checks import check
from conformance.world import World


@check("ONE-01", replicas=(1,))
def needs_a_device(world: World) -> None:
    for strategy in world.each():
        one_device = type(strategy)
        world.signature(one_device.__init__, ["device"])
        with world.raises(TypeError):
            one_device()


@check("ONE-02", replicas=(1,), needs=("data",))
def dataset_example_runs_once_a_device_is_supplied(world: World) -> None:
    one_device = type(world.strategy("OneDevice"))
    with world.raises(TypeError):
        one_device()
    strategy = one_device(device="/cpu:0")
    dataset = world.tf.data.Dataset.range(10).batch(2)
    elements = list(strategy.experimental_distribute_dataset(dataset))

    world.equal([[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]], list(map(world.array, elements)))


@check("ONE-03", replicas=(1,))
def puts_scoped_variables_on_its_device(world: World) -> None:
    tf = world.tf
    for strategy, name, other in _on_two_devices(world):
        before = tf.Variable(1.0)
        with tf.device(other), strategy.scope():
            variables = [tf.Variable(1.0), tf.Variable(lambda: tf.constant([1.0, 2.0]))]
        with strategy.scope():
            variables.append(tf.Variable(3.0, trainable=False))
        with tf.device(other):
            elsewhere = tf.Variable(1.0)

        world.equal([world.full(name)] * 3, list(map(world.device, variables)))
        world.equal(world.full(other), world.device(elsewhere), "a variable made outside the scope")
        world.equal(world.device(before), world.device(tf.Variable(1.0)), "a variable made after the scope")


@check("ONE-04", replicas=(1,))
def example_prints_the_full_device_name(world: World) -> None:
    world.gpus(1)
    for strategy in world.each():
        with type(strategy)(device="/gpu:0").scope():
            v = world.tf.Variable(1.0)

        world.equal("/job:localhost/replica:0/task:0/device:GPU:0", str(v.device))


@check("ONE-05", replicas=(1,), needs=("data",))
def prefetches_input_to_its_device(world: World) -> None:
    tf = world.tf
    for strategy, name, _ in _on_two_devices(world):

        def dataset(context: Any = None) -> Any:
            return tf.data.Dataset.from_tensor_slices(np.arange(8.0, dtype=np.float32)).batch(2)

        inputs = [
            strategy.experimental_distribute_dataset(dataset()),
            strategy.experimental_distribute_datasets_from_function(dataset),
        ]
        for distributed in inputs:
            world.equal([world.full(name)] * 4, [world.device(element) for element in distributed])


@check("ONE-06", replicas=(1,))
def runs_functions_on_its_device(world: World) -> None:
    tf = world.tf

    def made() -> Any:
        return tf.constant(1.0), tf.constant(1.0) + tf.constant(2.0)

    # What no run places goes to the usual device, where the tensors of one of the two strategies lie as well.
    usual = [world.device(tensor) for tensor in made()]
    for strategy, name, _ in _on_two_devices(world):
        world.equal([world.full(name)] * 2, [world.device(tensor) for tensor in strategy.run(made)])
        world.equal(usual, [world.device(tensor) for tensor in made()], "the same call outside run")


@check("ONE-07", replicas=(1,))
def example_sums_ten_runs_to_ninety(world: World) -> None:
    for strategy in world.each():
        _expect_ninety(world, strategy)


@check("ONE-08", replicas=(2,), needs=("data",))
def same_program_gives_the_same_totals_when_distributed(world: World) -> None:
    tf = world.tf

    def totals(strategy: Any) -> list[Any]:
        with strategy.scope():
            weight = tf.Variable(1.0, aggregation=tf.VariableAggregation.SUM)
        total = 0.0

        def step(x: Any) -> Any:
            examples = tf.cast(x, tf.float32)
            weight.assign_add(tf.reduce_sum(examples))
            return tf.reduce_sum(examples * examples)

        for batch in strategy.experimental_distribute_dataset(tf.data.Dataset.range(10).batch(4)):
            total += float(world.array(strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(step, (batch,)), None)))
        return [total, world.array(weight)]

    distributed = totals(world.strategy("Mirrored", replicas=2))

    world.equal([285.0, 46.0], distributed)
    for strategy in world.each():
        world.equal(distributed, totals(strategy))


@check("ONE-09", replicas=(1,))
def has_exactly_one_replica(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        ids: list[int] = []
        with strategy.scope():
            v = tf.Variable(1.0)

        def step(ids: list[int] = ids) -> Any:
            ids.append(world.replica_id())
            return tf.constant(2.0)

        result = strategy.run(step)

        world.equal(1, strategy.num_replicas_in_sync)
        world.equal([0], ids, "ids of the replicas that ran")
        world.equal([1.0], world.locals(strategy, v))
        world.equal([2.0], world.locals(strategy, result))


@check("ONE-10", replicas=(1,), needs=("data",))
def distributed_dataset_has_the_elements_of_the_dataset(world: World) -> None:
    tf = world.tf
    pairs = {"x": np.arange(7.0, dtype=np.float32), "y": np.arange(14, dtype=np.int32).reshape(7, 2)}
    datasets = [
        tf.data.Dataset.range(10).batch(3),
        tf.data.Dataset.range(4),  # unbatched: nothing is split, so there need not be a batch
        tf.data.Dataset.from_tensor_slices(pairs).batch(4),
    ]
    for strategy in world.each():
        for dataset in datasets:
            expected = [tf.nest.map_structure(world.array, element) for element in dataset]
            distributed = strategy.experimental_distribute_dataset(dataset)
            for _ in range(2):
                elements = list(distributed)
                for part in tf.nest.flatten(elements):
                    _expect_plain(world, part)
                world.equal(expected, [tf.nest.map_structure(world.array, element) for element in elements])


@check("ONE-11", replicas=(1,), needs=("data",))
def example_yields_a_range_in_pairs(world: World) -> None:
    for strategy in world.each():
        dataset = world.tf.data.Dataset.range(10).batch(2)
        elements = list(strategy.experimental_distribute_dataset(dataset))

        for element in elements:
            _expect_plain(world, element)
        world.equal([[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]], list(map(world.array, elements)))
        world.equal(["int64"] * 5, [world.array(element).dtype.name for element in elements])


@check("ONE-12", replicas=(1,), needs=("data",))
def dataset_function_is_called_once(world: World) -> None:
    for strategy in world.each():
        contexts: list[Any] = []

        def dataset(context: Any, contexts: list[Any] = contexts) -> Any:
            contexts.append(context)
            return world.tf.data.Dataset.range(8).batch(context.get_per_replica_batch_size(8))

        elements = list(strategy.experimental_distribute_datasets_from_function(dataset))

        world.equal([list(range(8))], list(map(world.array, elements)))
        world.equal(1, len(contexts), "calls of dataset_fn")
        world.equal(1, contexts[0].num_input_pipelines)
        world.equal(0, contexts[0].input_pipeline_id)
        world.equal(8, contexts[0].get_per_replica_batch_size(8))


@check("ONE-13", replicas=(1,))
def local_results_wrap_the_value_itself(world: World) -> None:
    for strategy in world.each():
        with strategy.scope():
            v = world.tf.Variable(1.0)
        for value in (world.tf.constant([1.0, 2.0]), 12345, v):
            results = strategy.experimental_local_results(value)

            world.true(type(results) is tuple and len(results) == 1, "a tuple of one value")
            world.same(value, results[0])


@check("ONE-14", replicas=(1,))
def reduce_without_axis_hands_back_the_value(world: World) -> None:
    tf = world.tf
    for strategy, name, _ in _on_two_devices(world):
        for number in (3.0, [1.0, 2.0, 6.0], [[1.0, 2.0], [3.0, 5.0]]):
            value = strategy.run(lambda number=number: tf.constant(number))
            for op in (tf.distribute.ReduceOp.SUM, tf.distribute.ReduceOp.MEAN):
                reduced = strategy.reduce(op, value, axis=None)

                world.equal(np.asarray(number, np.float32), reduced, f"{op}")
                world.equal(world.full(name), world.device(reduced), f"device of the result of {op}")


@check("ONE-15", replicas=(1,))
def reduce_with_axis_reduces_along_it(world: World) -> None:
    tf = world.tf
    op = tf.distribute.ReduceOp
    for strategy in world.each():
        table = tf.constant([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]])

        world.close([11.0, 22.0, 33.0], world.array(strategy.reduce(op.SUM, table, axis=0)))
        world.close([6.0, 60.0], world.array(strategy.reduce(op.SUM, table, axis=1)))
        world.close([2.0, 20.0], world.array(strategy.reduce(op.MEAN, table, axis=1)))
        world.close(2.0, strategy.reduce(op.MEAN, tf.constant([1.0, 2.0, 3.0]), axis=0))


@check("ONE-16", replicas=(1,))
def example_reduces_a_range(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        t = tf.range(10)

        world.equal(list(range(10)), world.array(strategy.reduce(tf.distribute.ReduceOp.SUM, t, axis=None)))
        world.equal(45, strategy.reduce(tf.distribute.ReduceOp.SUM, t, axis=0))


@check("ONE-17", replicas=(1,))
def run_calls_the_function_with_the_objects_given(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        with strategy.scope():
            v = tf.Variable(1.0)
        given = (tf.constant([1.0, 2.0]), 12345, v, 2.5)
        calls: list[list[Any]] = []

        def fn(*args: Any, calls: list[list[Any]] = calls, **kwargs: Any) -> Any:
            calls.append([*args, *kwargs.values()])
            return tf.constant(0.0)

        result = strategy.run(fn, args=given[:3], kwargs={"rate": given[3]})

        world.equal(1, len(calls), "calls of fn")
        world.equal(len(given), len(calls[0]), "arguments of fn")
        for expected, got in zip(given, calls[0], strict=True):
            world.same(expected, got, "an argument of fn")
        world.equal(world.full(world.names(1)[0]), world.device(result), "device of what fn makes")


@check("ONE-18", replicas=(1,))
def run_returns_what_the_function_returned(world: World) -> None:
    tensor = world.tf.constant([1.0, 2.0])
    for strategy in world.each():
        for value in (tensor, (tensor, 12345), 12345):
            world.same(value, strategy.run(_returning(value)))


@check("ONE-19", replicas=(1,))
def v1_example_enables_eager_execution_first(world: World) -> None:
    _expect_ninety(world, world.strategy("OneDevice"))
    for strategy in world.each():
        world.tf.compat.v1.enable_eager_execution()
        _expect_ninety(world, strategy)


@check("ONE-20", replicas=(1,), needs=("data",))
def v1_class_keeps_the_general_rules_with_one_replica(world: World) -> None:
    tf = world.tf
    dataset = tf.data.Dataset.range(7).batch(4)
    for strategy in (*world.each(), world.strategy("OneDevice")):
        batches = list(strategy.experimental_distribute_dataset(dataset))
        doubled = [strategy.run(lambda x: x * 2, args=(batch,)) for batch in batches]
        whole = strategy.reduce(tf.distribute.ReduceOp.SUM, doubled[0], axis=None)

        for value in (*batches, *doubled, whole):
            _expect_plain(world, value)
        world.equal([[0, 1, 2, 3], [4, 5, 6]], list(map(world.array, batches)))
        world.equal([[0, 2, 4, 6], [8, 10, 12]], list(map(world.array, doubled)))
        world.equal([0, 2, 4, 6], world.array(whole))
        world.equal(12, strategy.reduce(tf.distribute.ReduceOp.SUM, doubled[0], axis=0))
        world.equal([[0, 2, 4, 6]], world.locals(strategy, doubled[0]))


def _on_two_devices(world: World) -> Iterator[tuple[Any, str, str]]:
    """Build every kind on the CPU and on the last of two replica devices; name its device and the other one."""
    last = world.names(2)[1]
    for strategy in world.each():
        for name, other in (("CPU:0", last), (last, "CPU:0")):
            yield type(strategy)(name), name, other


def _expect_ninety(world: World, strategy: Any) -> None:
    """Run the example of the class; its result is a number or a tensor, and prints as such."""
    with strategy.scope():
        v = world.tf.Variable(1.0)

    def step_fn(x: Any) -> Any:
        return x * 2

    result: Any = 0
    for i in range(10):
        result += strategy.run(step_fn, args=(i,))

    world.equal(world.full(world.names(1)[0]), world.device(v))
    world.equal(90, result)
    world.true("90" in str(result), f"90 in what is printed, {result!s}")


def _expect_plain(world: World, value: Any) -> None:
    world.true(not isinstance(value, world.tf.distribute.DistributedValues), "a plain tensor, not a distributed value")


def _returning(value: Any) -> Callable[[], Any]:
    return lambda: value
