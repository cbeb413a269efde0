"""Checks of ITER: the iterators of v1, over a dataset or over what an input function makes."""

import inspect
from typing import Any

from conformance.checks import check
from conformance.world import World

NEEDS = ("data", "v1_iterators")
V2_KINDS = ("OneDevice", "Mirrored", "CentralStorage")


@check("ITER-01", needs=NEEDS)
def make_dataset_iterator_takes_a_dataset(world: World) -> None:
    for strategy in world.each():
        world.signature(strategy.make_dataset_iterator, ["dataset"])
        count = strategy.num_replicas_in_sync
        iterator = strategy.make_dataset_iterator(dataset=world.tf.data.Dataset.range(count).batch(count))
        iterator.initialize()

        world.equal([[index] for index in range(count)], world.locals(strategy, iterator.get_next()))


@check("ITER-02", needs=NEEDS)
def the_iterators_are_deprecated_and_left_behind_in_v1(world: World) -> None:
    for name in ("make_dataset_iterator", "make_input_fn_iterator"):
        for strategy in world.each():
            text = inspect.getdoc(getattr(strategy, name)) or ""
            world.true("deprecated" in text.lower(), f"the documentation text of {name} calls it deprecated: {text!r}")
        for strategy in world.each(*V2_KINDS):
            world.true(not hasattr(strategy, name), f"{type(strategy).__name__} of v2 has no {name}")


@check("ITER-03", needs=NEEDS)
def data_are_spread_evenly_over_the_replicas(world: World) -> None:
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        iterator = strategy.make_dataset_iterator(world.tf.data.Dataset.range(8 * count).batch(4 * count))
        iterator.initialize()
        steps = [world.locals(strategy, iterator.get_next()) for _ in range(2)]

        world.equal([[4] * count] * 2, [list(map(len, step)) for step in steps], "examples by step and replica")
        seen = [int(number) for step in steps for part in step for number in part]
        world.equal(list(range(8 * count)), sorted(seen), "all examples, each once")


@check("ITER-04", needs=NEEDS)
def a_global_batch_is_divided_in_order(world: World) -> None:
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        for size in (2, 1):
            dataset = world.tf.data.Dataset.range(2 * size * count).batch(size * count)
            iterator = strategy.make_dataset_iterator(dataset)
            iterator.initialize()
            pieces = [list(range(start, start + size)) for start in range(0, 2 * size * count, size)]

            steps = [world.locals(strategy, iterator.get_next()) for _ in range(2)]
            world.equal([pieces[:count], pieces[count:]], steps, f"batches of {size * count}")
        # A last batch is divided like the others where that is possible.
        iterator = strategy.make_dataset_iterator(world.tf.data.Dataset.range(3 * count).batch(2 * count))
        iterator.initialize()
        iterator.get_next()
        expected = [[2 * count + index] for index in range(count)]
        world.equal(expected, world.locals(strategy, iterator.get_next()), "a last batch of half the size")


@check("ITER-05", replicas=(2, 3, 8), needs=NEEDS)
def a_batch_that_cannot_be_divided_is_an_error(world: World) -> None:
    for strategy in world.each("Mirrored.v1", "CentralStorage.v1"):
        numbers = world.tf.data.Dataset.range(100)
        for dataset, what in ((numbers, "no batches"), (numbers.batch(2 * world.replicas + 1), "an uneven batch")):
            # It may be noticed at any time before the data are used.
            with world.raises() as raised:
                iterator = strategy.make_dataset_iterator(dataset)
                iterator.initialize()
                iterator.get_next()

            world.true(str(raised.error), f"the error says something about {what}")


@check("ITER-06", needs=NEEDS)
def an_input_function_gives_whole_batches_instead(world: World) -> None:
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        size = 2 * count + 1
        numbers = world.tf.data.Dataset.range(count * size)
        iterator = strategy.make_input_fn_iterator(lambda _, numbers=numbers, size=size: numbers.batch(size))
        iterator.initialize()

        expected = [list(range(size * index, size * (index + 1))) for index in range(count)]
        world.equal(expected, world.locals(strategy, iterator.get_next()))


@check("ITER-07", needs=NEEDS)
def an_iterator_has_the_inputs_of_each_step(world: World) -> None:
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        iterator = strategy.make_dataset_iterator(world.tf.data.Dataset.range(3 * count).batch(count))
        is_one = isinstance(iterator, world.tf.distribute.InputIterator)
        world.true(is_one, f"{type(iterator).__name__} is a tf.distribute.InputIterator")
        iterator.initialize()

        steps = [world.locals(strategy, iterator.get_next()) for _ in range(3)]
        world.equal([[[step * count + index] for index in range(count)] for step in range(3)], steps)


@check("ITER-08", needs=NEEDS)
def initialize_goes_to_the_beginning_of_the_dataset(world: World) -> None:
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        iterator = strategy.make_dataset_iterator(world.tf.data.Dataset.range(3 * count).batch(count))
        first = [[index] for index in range(count)]
        second = [[count + index] for index in range(count)]
        iterator.initialize()
        steps = [world.locals(strategy, iterator.get_next()) for _ in range(2)]
        iterator.initialize()
        again = world.locals(strategy, iterator.get_next())

        world.equal([first, second], steps, "after the first initialize")
        world.equal(first, again, "after the second initialize")


@check("ITER-09", needs=NEEDS)
def make_input_fn_iterator_takes_a_function_and_a_mode(world: World) -> None:
    mode = world.tf.distribute.InputReplicationMode.PER_WORKER
    for strategy in world.each():
        method = strategy.make_input_fn_iterator
        world.signature(method, ["input_fn", ("replication_mode", mode)])
        for iterator in (method(_pairs(world)), method(_pairs(world), mode)):
            iterator.initialize()
            world.equal(_dealt(strategy, 0), world.locals(strategy, iterator.get_next()))


@check("ITER-10", needs=NEEDS)
def the_input_function_maps_an_input_context_to_a_dataset(world: World) -> None:
    for strategy in world.each():
        given: list[Any] = []

        def input_fn(*args: Any, given: list[Any] = given) -> Any:
            given.append(args)
            return world.tf.data.Dataset.range(32).batch(2)

        iterator = strategy.make_input_fn_iterator(input_fn)
        iterator.initialize()

        world.equal(_dealt(strategy, 0), world.locals(strategy, iterator.get_next()))
        world.equal(1, len(given[0]), "arguments of input_fn")
        context = given[0][0]
        world.true(isinstance(context, world.tf.distribute.InputContext), "the argument is an InputContext")
        size = context.get_per_replica_batch_size(4 * strategy.num_replicas_in_sync)
        world.equal([4, 1, 0], [size, context.num_input_pipelines, context.input_pipeline_id], "what it tells")


@check("ITER-11", needs=NEEDS)
def datasets_of_the_input_function_have_the_batch_size_of_one_replica(world: World) -> None:
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        sizes: list[int] = []

        def input_fn(context: Any, count: int = count, sizes: list[int] = sizes) -> Any:
            sizes.append(context.get_per_replica_batch_size(4 * count))
            return world.tf.data.Dataset.range(8 * count).batch(sizes[0])

        iterator = strategy.make_input_fn_iterator(input_fn)
        iterator.initialize()

        for step in range(2):
            parts = world.locals(strategy, iterator.get_next())
            world.equal([4], sizes, "what the context calls the batch size of a replica")
            world.equal([4] * count, list(map(len, parts)), f"examples by replica in step {step}")


@check("ITER-12", needs=NEEDS)
def only_one_call_per_worker_is_supported(world: World) -> None:
    modes = world.tf.distribute.InputReplicationMode
    others = [mode for mode in modes if mode is not modes.PER_WORKER]
    for strategy in world.each():
        for mode in (*others, "PER_REPLICA", 2):
            # Unlike with an input that cannot be divided, nothing has to be read to notice it.
            with world.raises():
                strategy.make_input_fn_iterator(_pairs(world), replication_mode=mode)


@check("ITER-13", needs=NEEDS)
def the_input_function_is_called_once_on_a_worker(world: World) -> None:
    for strategy in world.each():
        calls: list[str] = []

        def input_fn(context: Any, calls: list[str] = calls) -> Any:
            calls.append("called")
            return _pairs(world)(context)

        iterator = strategy.make_input_fn_iterator(input_fn)
        iterator.initialize()
        steps = [world.locals(strategy, iterator.get_next()) for _ in range(2)]

        world.equal([_dealt(strategy, 0), _dealt(strategy, 1)], steps)
        world.equal(1, len(calls), "calls of input_fn")


@check("ITER-14", needs=NEEDS)
def replicas_take_turns_with_the_batches_of_their_worker(world: World) -> None:
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        iterator = strategy.make_input_fn_iterator(_pairs(world))
        iterator.initialize()

        for step in range(2):
            expected = [[2 * (step * count + i), 2 * (step * count + i) + 1] for i in range(count)]
            world.equal(expected, world.locals(strategy, iterator.get_next()), f"step {step}")


@check("ITER-15", needs=NEEDS)
def an_initialized_iterator_starts_with_the_first_batch(world: World) -> None:
    for strategy in world.each():
        iterator = strategy.make_input_fn_iterator(_pairs(world))
        iterator.initialize()
        steps = [world.locals(strategy, iterator.get_next()) for _ in range(2)]
        iterator.initialize()
        again = world.locals(strategy, iterator.get_next())

        world.equal([_dealt(strategy, 0), _dealt(strategy, 1)], steps)
        world.equal(_dealt(strategy, 0), again, "after it is initialized again")


@check("ITER-16", needs=NEEDS)
def an_iterator_can_be_given_to_experimental_run(world: World) -> None:
    for strategy in world.each():
        iterator = strategy.make_input_fn_iterator(_pairs(world))
        iterator.initialize()

        for step in range(2):
            result = strategy.experimental_run(lambda x: x * 10, iterator)
            expected = [[10 * number for number in part] for part in _dealt(strategy, step)]
            world.equal(expected, world.locals(strategy, result), f"step {step}")


@check("ITER-17", needs=NEEDS)
def the_next_value_can_be_given_to_call_for_each_replica(world: World) -> None:
    for strategy in world.each():
        iterators = [strategy.make_input_fn_iterator(_pairs(world)) for _ in range(2)]
        for iterator in iterators:
            iterator.initialize()

        for step in range(2):
            with strategy.scope():
                result = strategy.extended.call_for_each_replica(_scaled, args=(iterators[0].get_next(),))
            expected = [[10 * number for number in part] for part in _dealt(strategy, step)]
            world.equal(expected, world.locals(strategy, result), f"step {step}")
            run = strategy.experimental_run(_scaled, iterators[1])
            world.equal(
                world.locals(strategy, run), world.locals(strategy, result), f"as experimental_run, step {step}"
            )


@check("ITER-18", replicas=(1, 2, 8), needs=NEEDS)
def example_runs_without_initialize(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        seen: list[Any] = []

        def input_fn(input_context: Any) -> Any:
            batch_size = input_context.get_per_replica_batch_size(8)
            d = tf.data.Dataset.from_tensors([[1.0]]).repeat().batch(batch_size)
            return d.shard(input_context.num_input_pipelines, input_context.input_pipeline_id)

        def replica_fn(x: Any, seen: list[Any] = seen) -> Any:
            seen.append(world.array(x))
            return x

        with strategy.scope():
            iterator = strategy.make_input_fn_iterator(input_fn)
            replica_results = strategy.experimental_run(replica_fn, iterator)

        count = strategy.num_replicas_in_sync
        ones = [[[[1.0]]] * (8 // count)] * count
        world.equal(ones, seen, "what the replicas see")
        world.equal(ones, world.locals(strategy, replica_results))


def _pairs(world: World) -> Any:
    """Make an input function of sixteen batches of two numbers."""
    return lambda context: world.tf.data.Dataset.range(32).batch(2)


def _dealt(strategy: Any, step: int) -> list[list[int]]:
    """Say what each replica gets of these batches in a step."""
    count = strategy.num_replicas_in_sync
    return [[2 * index, 2 * index + 1] for index in range(step * count, (step + 1) * count)]


def _scaled(x: Any) -> Any:
    return x * 10
