"""Checks of DATAFN: the documented examples, and what the pages recommend the method for."""

from collections.abc import Callable
from functools import partial
from typing import Any

from conformance.checks import check
from conformance.checks.datafn import distribute, steps_of
from conformance.checks.notices import notices
from conformance.world import World


@check("DATAFN-16", replicas=(1, 2, 8), needs=("data",))
def example_feeds_endless_ones(world: World) -> None:
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        seen: list[Any] = []

        def replica_fn(x: Any, seen: list[Any] = seen) -> Any:
            seen.append(world.array(x))
            return x

        inputs = strategy.experimental_distribute_datasets_from_function(partial(_ones, world))
        for _, batch in zip(range(3), inputs, strict=False):
            strategy.run(replica_fn, args=(batch,))

        world.equal([[[[1.0]]] * (8 // count)] * (3 * count), seen, "what the replicas see in three steps")


@check("DATAFN-17", replicas=(1, 2, 8), needs=("data", "function"))
def example_takes_the_signature_from_the_dataset(world: World) -> None:
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        ds = strategy.experimental_distribute_datasets_from_function(partial(_ones, world))
        specs = str(ds.element_spec).split("TensorSpec(shape=")[1:]
        world.equal(count, len(specs), "specs of single tensors")
        for text in specs:
            world.true(", 1, 1), dtype=tf.float32" in text, f"float32 and trailing dimensions (1, 1) in {text}")

        # The example defines this function, and then runs another that is not there.
        @world.tf.function(input_signature=[ds.element_spec])
        def step_fn(inputs: Any) -> Any:
            return inputs

        for _, batch in zip(range(3), ds, strict=False):
            world.equal([[[[1.0]]] * (8 // count)] * count, world.locals(strategy, step_fn(batch)))


@check("DATAFN-20", replicas=(1, 2), needs=("data", "multi_worker"))
def sharding_by_hand_comes_before_expensive_work(world: World) -> None:
    def program(strategy: Any, index: int) -> Any:
        worked: list[int] = []

        def dataset_fn(context: Any) -> Any:
            own = world.tf.data.Dataset.range(16).shard(context.num_input_pipelines, context.input_pipeline_id)
            return own.map(_noted(world, worked)).batch(2)

        with notices() as heard:
            steps = steps_of(world, strategy, distribute(strategy, dataset_fn))
        return steps, worked, [text for text in heard if "shard" in text.lower()]

    for index, (steps, worked, heard) in enumerate(world.workers(2, program, replicas=world.replicas)):
        own = list(range(index, 16, 2))
        world.equal(own, [number for step in steps for part in step for number in part], f"worker {index} sees")
        world.equal(own, sorted(worked), f"worker {index} works on")
        world.equal([], heard, f"worker {index} says")


@check("DATAFN-21", replicas=(1, 2), needs=("data", "multi_worker"))
def endless_data_may_differ_in_their_seed_only(world: World) -> None:
    def dataset_fn(context: Any) -> Any:
        numbers = world.tf.data.Dataset.range(64)
        return numbers.shuffle(64, seed=100 + context.input_pipeline_id).repeat().batch(4)

    def program(strategy: Any, index: int) -> Any:
        def stream() -> list[Any]:
            batches = [batch for _, batch in zip(range(4), distribute(strategy, dataset_fn), strict=False)]
            return steps_of(world, strategy, batches)

        return stream(), stream()

    first, second = world.workers(2, program, replicas=world.replicas)
    for stream, again in (first, second):
        world.equal(stream, again, "a stream, made again from its seed")
    world.true(first[0] != second[0], "the streams of the two workers differ")


@check("DATAFN-22", replicas=(2, 3, 8), needs=("data",))
def elements_need_not_be_batches(world: World) -> None:
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        made = distribute(strategy, lambda _, count=count: world.tf.data.Dataset.range(3 * count))

        expected = [[step * count + index for index in range(count)] for step in range(3)]
        world.equal(expected, steps_of(world, strategy, made))


@check("DATAFN-23", needs=("data",))
def batching_and_sharding_are_up_to_the_function(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        batches = [[float(number)] * (number + 1) for number in range(2 * count)]

        def growing(_: Any, batches: list[list[float]] = batches) -> Any:
            spec = tf.TensorSpec([None], tf.float32)
            return tf.data.Dataset.from_generator(lambda: iter(batches), output_signature=spec)

        def own_shard(_: Any, count: int = count) -> Any:
            return tf.data.Dataset.range(12 * count).shard(3, 1).batch(2)

        steps = steps_of(world, strategy, distribute(strategy, growing))
        world.equal([batches[:count], batches[count:]], steps, "batches of sizes of their own")
        steps = steps_of(world, strategy, distribute(strategy, own_shard))
        seen = [number for step in steps for part in step for number in part]
        world.equal(list(range(1, 12 * count, 3)), seen, "the only shard that was made")


def _ones(world: World, input_context: Any) -> Any:
    """Do as the dataset function of the documented example, with a global batch size of 8."""
    batch_size = input_context.get_per_replica_batch_size(8)
    d = world.tf.data.Dataset.from_tensors([[1.0]]).repeat().batch(batch_size)
    return d.shard(input_context.num_input_pipelines, input_context.input_pipeline_id)


def _noted(world: World, seen: list[int]) -> Callable[[Any], Any]:
    """Make a function to be mapped over numbers that notes each, even where such functions are traced."""

    def note(x: Any) -> Any:
        seen.append(int(world.array(x)))
        return x

    untraced = getattr(world.tf, "py_function", None)
    return note if untraced is None else lambda x: untraced(note, [x], x.dtype)
