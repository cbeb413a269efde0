"""Checks of DATAFN: distributed datasets that a function of the user makes, one on each worker."""

import inspect
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from conformance.checks import check
from conformance.checks.notices import notices
from conformance.world import World


@check("DATAFN-01", needs=("data",))
def the_older_pages_spell_the_method_with_experimental(world: World) -> None:
    for strategy in world.each():
        made = strategy.experimental_distribute_datasets_from_function(partial(pairs, world, strategy))

        world.equal(dealt_pairs(strategy), steps_of(world, strategy, made))


@check("DATAFN-02", needs=("data",))
def the_newest_page_spells_the_method_without_experimental(world: World) -> None:
    for strategy in world.each():
        dataset_fn = partial(pairs, world, strategy)

        made = strategy.distribute_datasets_from_function(dataset_fn)
        world.equal(dealt_pairs(strategy), steps_of(world, strategy, made))
        # Only the older pages have the other spelling; where it exists, it is the same method.
        for method in spellings(strategy):
            world.equal(dealt_pairs(strategy), steps_of(world, strategy, method(dataset_fn)), method.__name__)


@check("DATAFN-03", needs=("data",))
def the_dataset_function_is_all_that_is_needed(world: World) -> None:
    for strategy in world.each():
        dataset_fn = partial(pairs, world, strategy)
        method = strategy.experimental_distribute_datasets_from_function
        # Newer pages add options, which may be left out.
        newer = "options" in inspect.signature(method).parameters
        world.signature(method, ["dataset_fn", *([("options", None)] if newer else [])])

        world.equal(dealt_pairs(strategy), steps_of(world, strategy, method(dataset_fn)))
        world.equal(dealt_pairs(strategy), steps_of(world, strategy, method(dataset_fn=dataset_fn)), "by name")


@check("DATAFN-04", needs=("data",))
def options_may_be_given_and_their_default_changes_nothing(world: World) -> None:
    for strategy in world.each():
        for method in spellings(strategy):
            world.signature(method, ["dataset_fn", ("options", None)])

            for options in (None, world.tf.distribute.InputOptions()):
                made = method(partial(pairs, world, strategy), options)
                world.equal(dealt_pairs(strategy), steps_of(world, strategy, made), f"with options={options!r}")


@check("DATAFN-05", needs=("data",), uses=("multi_worker",))
def the_function_is_called_once_on_a_worker(world: World) -> None:
    for index, contexts in enumerate(world.on_two_workers(partial(_told, world))):
        world.equal([index], [id for _, id, _ in contexts], f"the pipelines for which worker {index} calls dataset_fn")
    for strategy in world.each():
        contexts: list[Any] = []
        made = distribute(strategy, partial(_noting, world, strategy, contexts))
        for _ in range(2):
            world.equal(dealt_pairs(strategy), steps_of(world, strategy, made))

        world.equal(1, len(contexts), "calls of dataset_fn")


@check("DATAFN-06", needs=("data",))
def the_function_runs_on_the_cpu(world: World) -> None:
    tf = world.tf
    last = world.names(max(2, world.replicas))[-1]
    for strategy in world.each():
        places: list[str] = []

        def dataset_fn(context: Any, strategy: Any = strategy, places: list[str] = places) -> Any:
            places.append(world.device(tf.constant(1.0)))
            return pairs(world, strategy, context)

        for surroundings in (tf.device("CPU:0"), tf.device(last), strategy.scope()):
            with surroundings:
                made = distribute(strategy, dataset_fn)
            world.equal(dealt_pairs(strategy), steps_of(world, strategy, made))

        world.equal([world.full("CPU:0")] * 3, places, "where dataset_fn makes tensors")


@check("DATAFN-07", needs=("data",))
def each_replica_takes_one_batch_in_each_step(world: World) -> None:
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        numbers = world.tf.data.Dataset.range(8 * count)
        steps = steps_of(world, strategy, distribute(strategy, lambda _, numbers=numbers: numbers.batch(2)))

        world.equal(4, len(steps), f"steps for which {4 * count} batches last")
        expected = [[[2 * (step * count + i), 2 * (step * count + i) + 1] for i in range(count)] for step in range(4)]
        world.equal(expected, steps)


@check("DATAFN-08", needs=("data",))
def the_function_maps_an_input_context_to_a_dataset(world: World) -> None:
    for strategy in world.each():
        given: list[Any] = []

        def dataset_fn(*args: Any, strategy: Any = strategy, given: list[Any] = given) -> Any:
            given.append(args)
            return pairs(world, strategy, *args)

        steps = steps_of(world, strategy, distribute(strategy, dataset_fn))

        world.equal([1], list(map(len, given)), "arguments of dataset_fn")
        context = given[0][0]
        world.true(isinstance(context, world.tf.distribute.InputContext), "the argument is an InputContext")
        size = context.get_per_replica_batch_size(4 * strategy.num_replicas_in_sync)
        world.equal([4, 1, 0], [size, context.num_input_pipelines, context.input_pipeline_id], "what it tells")
        world.equal(dealt_pairs(strategy), steps)
        for wrong in (None, 5):
            with world.raises():
                steps_of(world, strategy, distribute(strategy, lambda _, wrong=wrong: wrong))


@check("DATAFN-09", needs=("data",), uses=("multi_worker",))
def batches_are_handed_over_as_they_are(world: World) -> None:
    def program(strategy: Any, _: int) -> Any:
        own = world.tf.data.Dataset.range(6 * world.replicas).batch(3)
        with notices() as heard:
            seen = steps_of(world, strategy, distribute(strategy, lambda _: own))
        return seen, [text for text in heard if "shard" in text.lower()]

    for index, (seen, heard) in enumerate(world.on_two_workers(program)):
        world.equal(dealt(6 * world.replicas, 3, world.replicas), seen, f"worker {index} sees everything")
        world.equal([], heard, f"what worker {index} says about sharding")
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        numbers = world.tf.data.Dataset.range(6 * count)
        # With two and eight replicas, neither can be divided.
        for size in (3, 1):
            made = distribute(strategy, lambda _, numbers=numbers, size=size: numbers.batch(size))

            world.equal(dealt(6 * count, size, count), steps_of(world, strategy, made), f"batches of {size}")


@check("DATAFN-10", needs=("data",))
def datasets_of_the_function_have_the_batch_size_of_one_replica(world: World) -> None:
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        size = 4 * count
        numbers = world.tf.data.Dataset.range(2 * count * size)

        def by_replica(context: Any, numbers: Any = numbers, size: int = size) -> Any:
            return numbers.batch(context.get_per_replica_batch_size(size))

        def by_step(_: Any, numbers: Any = numbers, size: int = size) -> Any:
            return numbers.batch(size)

        whole = strategy.experimental_distribute_dataset(numbers.batch(size))
        made = [distribute(strategy, by_replica), distribute(strategy, by_step), whole]
        first_steps = [steps_of(world, strategy, distributed)[0] for distributed in made]
        world.equal([size, count * size, size], [sum(map(len, step)) for step in first_steps], "examples of a step")


@check("DATAFN-11", needs=("data",), uses=("multi_worker",))
def the_batch_size_of_a_replica_is_the_global_one_divided(world: World) -> None:
    for index, ((_, _, size),) in enumerate(world.on_two_workers(partial(_told, world))):
        world.equal(
            4, size, f"the batch size of a replica on worker {index}: the replicas of both share the global one"
        )
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        context = _context(world, strategy)

        world.equal([1, 4, 100], [context.get_per_replica_batch_size(factor * count) for factor in (1, 4, 100)])
        if count > 1:
            with world.raises(ValueError):
                context.get_per_replica_batch_size(4 * count + 1)


@check("DATAFN-12", needs=("data",), uses=("multi_worker",))
def there_is_one_input_pipeline_on_each_worker(world: World) -> None:
    for index, ((pipelines, _, _),) in enumerate(world.on_two_workers(partial(_told, world))):
        world.equal(2, pipelines, f"the pipelines of two workers, as worker {index} is told")
    for strategy in world.each():
        world.equal(1, _context(world, strategy).num_input_pipelines)

        # As many shards as pipelines: on one worker, each is all of the data.
        def dataset_fn(context: Any, strategy: Any = strategy) -> Any:
            return pairs(world, strategy).shard(context.num_input_pipelines, 0)

        world.equal(dealt_pairs(strategy), steps_of(world, strategy, distribute(strategy, dataset_fn)))


@check("DATAFN-13", needs=("data",), uses=("multi_worker",))
def input_pipelines_are_counted_from_zero(world: World) -> None:
    for index, ((_, id, _),) in enumerate(world.on_two_workers(partial(_told, world))):
        world.equal(index, id, f"the id of the pipeline of worker {index}")
    for strategy in world.each():
        context = _context(world, strategy)
        world.equal(0, context.input_pipeline_id)
        world.true(context.input_pipeline_id < context.num_input_pipelines, "the id is below the number of pipelines")

        # The id selects a shard: here the even ones of the batches.
        def dataset_fn(context: Any, strategy: Any = strategy) -> Any:
            return pairs(world, strategy).shard(2, context.input_pipeline_id)

        count = strategy.num_replicas_in_sync
        expected = [[[4 * index, 4 * index + 1] for index in range(count)]]
        world.equal(expected, steps_of(world, strategy, distribute(strategy, dataset_fn)))


@check("DATAFN-14", needs=("data",))
def the_iterator_tells_the_spec_of_its_elements(world: World) -> None:
    for strategy in world.each():
        iterator = iter(distribute(strategy, partial(_examples, world)))
        spec = iterator.element_spec

        for element in (next(iterator), next(iterator)):
            _expect_spec(world, spec, element)


@check("DATAFN-15", needs=("data", "function"))
def the_dataset_tells_the_spec_before_there_is_an_iterator(world: World) -> None:
    for strategy in world.each():
        made = distribute(strategy, partial(_examples, world))
        spec = made.element_spec
        iterator = iter(made)

        world.true(spec == iterator.element_spec, f"{spec} equals the spec of the iterator, {iterator.element_spec}")
        _expect_spec(world, spec, next(iterator))

        @world.tf.function(input_signature=[spec])
        def step(examples: Any, strategy: Any = strategy) -> Any:
            return strategy.run(lambda x: x["features"] * 2, args=(examples,))

        element = next(iterator)
        expected = [2 * part for part in world.locals(strategy, element["features"])]
        world.equal(expected, world.locals(strategy, step(element)), "the result of a function with this signature")


@check("DATAFN-18", needs=("data",))
def the_older_pages_promise_something_to_iterate_over(world: World) -> None:
    distributed_values = world.tf.distribute.DistributedValues
    for strategy in world.each():
        several = strategy.num_replicas_in_sync > 1
        inputs = strategy.experimental_distribute_datasets_from_function(partial(pairs, world, strategy))
        for _ in range(2):
            batches: list[Any] = []
            for batch in inputs:
                world.equal(several, isinstance(batch, distributed_values), "whether a batch is a per-replica value")
                batches.append(batch)

            world.equal(dealt_pairs(strategy), steps_of(world, strategy, batches))


@check("DATAFN-19", needs=("data",))
def the_newer_pages_promise_a_distributed_dataset(world: World) -> None:
    for strategy in world.each():
        whole = strategy.experimental_distribute_dataset(world.tf.data.Dataset.range(16).batch(8))
        for made in (whole, *(method(partial(pairs, world, strategy)) for method in spellings(strategy))):
            is_one = isinstance(made, world.tf.distribute.DistributedDataset)
            world.true(is_one, f"{type(made).__name__} is a DistributedDataset")


def distribute(strategy: Any, dataset_fn: Callable[..., Any]) -> Any:
    """Distribute what a function makes, by the newest spelling that there is."""
    return spellings(strategy)[0](dataset_fn)


def spellings(strategy: Any) -> list[Any]:
    """Return the method under each of its documented names that the strategy has, the newest first."""
    names = ("distribute_datasets_from_function", "experimental_distribute_datasets_from_function")
    return [getattr(strategy, name) for name in names if hasattr(strategy, name)]


def pairs(world: World, strategy: Any, context: Any = None) -> Any:
    """Make a dataset of numbers in batches of two, which last for two steps of a strategy."""
    return world.tf.data.Dataset.range(4 * strategy.num_replicas_in_sync).batch(2)


def dealt_pairs(strategy: Any) -> list[list[list[int]]]:
    """Say what each replica gets of `pairs` in each step."""
    count = strategy.num_replicas_in_sync
    return dealt(4 * count, 2, count)


def dealt(total: int, size: int, count: int) -> list[list[list[int]]]:
    """Deal numbers in batches to the replicas, one batch to each in every step."""
    batches = [list(range(start, min(start + size, total))) for start in range(0, total, size)]
    return [batches[start : start + count] for start in range(0, len(batches), count)]


def steps_of(world: World, strategy: Any, distributed: Iterable[Any]) -> list[list[Any]]:
    """Go through a distributed dataset, and return what each replica gets in each step."""
    return [[part.tolist() for part in world.locals(strategy, element)] for element in distributed]


def _noting(world: World, strategy: Any, contexts: list[Any], context: Any) -> Any:
    """Keep the context with which a dataset is made."""
    contexts.append(context)
    return pairs(world, strategy)


def _context(world: World, strategy: Any) -> Any:
    """Return the context that the dataset function of a strategy is given."""
    contexts: list[Any] = []
    steps_of(world, strategy, distribute(strategy, partial(_noting, world, strategy, contexts)))
    return contexts[0]


def _told(world: World, strategy: Any, _: int) -> list[tuple[int, int, int]]:
    """Return what the contexts of all calls of a dataset function tell: pipelines, id, and size of a replica's batch."""
    contexts: list[Any] = []
    made = distribute(strategy, partial(_noting, world, strategy, contexts))
    for _ in range(2):
        steps_of(world, strategy, made)
    size = 4 * strategy.num_replicas_in_sync
    return [
        (context.num_input_pipelines, context.input_pipeline_id, context.get_per_replica_batch_size(size))
        for context in contexts
    ]


def _examples(world: World, context: Any) -> Any:
    """Make an endless dataset of batches with several parts."""
    tf = world.tf
    table = {"features": tf.ones([6, 2]), "label": tf.range(6)}
    return tf.data.Dataset.from_tensor_slices(table).repeat().batch(2)


def _expect_spec(world: World, spec: Any, element: Any) -> None:
    """Expect a spec to have the structure of an element, and to fit its parts and no others."""
    world.equal(sorted(element), sorted(spec), "parts of the spec")
    for name, other in (("features", "label"), ("label", "features")):
        world.true(spec[name].is_compatible_with(element[name]), f"{spec[name]} fits {element[name]}")
        world.true(not spec[name].is_compatible_with(element[other]), f"{spec[name]} does not fit {element[other]}")
