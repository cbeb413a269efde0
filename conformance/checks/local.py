"""Checks of `experimental_local_results`: which values it takes, and what it returns for each."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from conformance.checks import check
from conformance.checks.values import maker_of_values
from conformance.world import World


@check("LOCAL-01")
def the_local_results_are_a_tuple(world: World) -> None:
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        value = world.per_replica(strategy, [1.0 + index for index in range(count)])

        result = strategy.experimental_local_results(value)

        world.same(tuple, type(result))
        world.equal([1.0 + index for index in range(count)], sorted(world.array(part) for part in result))


@check("LOCAL-02")
def the_local_results_can_be_used_as_a_list(world: World) -> None:
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        for size, value in ((count, world.per_replica(strategy, [5.0] * count)), (1, world.tf.constant(5.0))):
            result = strategy.experimental_local_results(value)

            # The summary says list and the section on what is returned says tuple: both are sequences.
            world.true(isinstance(result, Sequence), "a sequence")
            world.equal(size, len(result), "length of the sequence")
            world.equal([5.0] * size, [world.array(result[index]) for index in range(size)])
            world.equal([5.0] * size, [world.array(part) for part in result[::-1]], "a slice of the sequence")


@check("LOCAL-03")
def element_i_belongs_to_replica_i(world: World) -> None:
    for strategy in world.each():
        result = strategy.run(lambda: world.tf.constant(world.replica_id()))

        world.equal(list(range(strategy.num_replicas_in_sync)), world.locals(strategy, result))


@check("LOCAL-04")
def a_single_value_gives_a_tuple_of_just_that_value(world: World) -> None:
    for strategy in world.each():
        for value in (world.tf.constant(7.0), world.tf.constant([1, 2, 3]), 7):
            result = strategy.experimental_local_results(value)

            world.equal((tuple, 1), (type(result), len(result)))
            world.same(value, result[0])


@check("LOCAL-05")
def takes_results_of_run_and_generated_values(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        maker = maker_of_values(world, strategy)

        results = strategy.experimental_local_results(strategy.run(lambda: tf.constant(1.5 * world.replica_id())))

        world.equal([1.5 * index for index in range(count)], results)
        world.true(all(isinstance(part, type(tf.constant(0.0))) for part in results), "what run returned are tensors")
        for value_fn, expected in (
            (
                lambda context: np.arange(3.0, -6.0, -1.0)[context.replica_id_in_sync_group],
                [3.0 - i for i in range(count)],
            ),
            (lambda context: context.num_replicas_in_sync, [count] * count),
        ):
            generated = maker.experimental_distribute_values_from_function(value_fn)
            world.equal(expected, strategy.experimental_local_results(generated))


@check("LOCAL-06")
def takes_results_of_experimental_run(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        result = strategy.experimental_local_results(
            strategy.experimental_run(lambda: tf.constant(10 * world.replica_id()))
        )

        world.same(tuple, type(result))
        world.equal([10 * index for index in range(strategy.num_replicas_in_sync)], result)


@check("LOCAL-07")
def takes_results_of_call_for_each_replica(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        value = strategy.extended.call_for_each_replica(lambda x: x + world.replica_id(), args=(tf.constant(20),))

        world.equal([20 + index for index in range(strategy.num_replicas_in_sync)], world.locals(strategy, value))


@check("LOCAL-08")
def takes_values_from_every_source_that_the_newest_page_names(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        # Only the v1 flavor has experimental_run.
        sources = [strategy.run, *([strategy.experimental_run] if hasattr(strategy, "experimental_run") else [])]
        for source in sources:
            value = source(lambda: tf.constant(world.replica_id()))
            world.equal(list(range(strategy.num_replicas_in_sync)), world.locals(strategy, value))
        with strategy.scope():
            variable = tf.Variable(2.5)
        world.equal([2.5], world.locals(strategy, variable))


@check("LOCAL-09")
def a_variable_of_the_scope_gives_its_local_copies(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        with strategy.scope():
            variable = tf.Variable([1.0, 2.0])

        copies = strategy.experimental_local_results(variable)

        # Mirrored variables have a copy for each replica, those of the other strategies one for all.
        mirrored = world.is_a(strategy, "MirroredStrategy", "MultiWorkerMirroredStrategy", "TPUStrategy")
        count = strategy.num_replicas_in_sync if mirrored else 1
        world.equal([[1.0, 2.0]] * count, world.locals(strategy, variable))
        world.true(all(isinstance(copy, tf.Variable) for copy in copies), "each copy is a variable")
        if mirrored:
            world.equal(world.replica_devices(strategy), [world.device(copy) for copy in copies])


@check("LOCAL-10", replicas=(1, 2), needs=("multi_worker",))
def only_the_values_of_this_worker_are_returned(world: World) -> None:
    def program(strategy: Any, _: int) -> tuple[int, list[Any]]:
        result = strategy.run(lambda: world.tf.constant(world.replica_id()))
        return strategy.num_replicas_in_sync, world.locals(strategy, result)

    own = world.replicas
    for index, (count, ids) in enumerate(world.workers(2, program, replicas=own)):
        world.equal(2 * own, count, "replicas of both workers")
        world.equal(list(range(index * own, (index + 1) * own)), ids, f"replica ids that worker {index} sees")


@check("LOCAL-11")
def experimental_local_results_has_the_documented_signature(world: World) -> None:
    for strategy in world.each():
        world.signature(strategy.experimental_local_results, ["value"])
