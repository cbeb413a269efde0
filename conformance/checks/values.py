"""Checks of `experimental_distribute_values_from_function`, and of how values are printed."""

from typing import Any

import numpy as np

from conformance.checks import check
from conformance.world import World


def maker_of_values(world: World, strategy: Any) -> Any:
    """Return the strategy itself, or, as the v1 flavor need not make values, a v2 one with as many replicas."""
    return strategy if _makes_values(strategy) else _v2_maker(world, strategy)


@check("VALUES-01")
def has_the_documented_signature(world: World) -> None:
    for strategy in world.each():
        world.signature(strategy.experimental_distribute_values_from_function, ["value_fn"])
        with world.raises(TypeError):
            strategy.experimental_distribute_values_from_function()


@check("VALUES-02")
def calls_the_function_once_for_each_replica_with_a_context_only(world: World) -> None:
    distribute = world.tf.distribute
    # The page calls it tf.distribute.ValueContext; TensorFlow exports it one level further down only.
    kinds = tuple(
        place.ValueContext for place in (distribute, distribute.experimental) if hasattr(place, "ValueContext")
    )
    calls: list[Any] = []

    def value_fn(*args: Any, **kwargs: Any) -> float:
        calls.append((args, kwargs))
        return 1.0

    for strategy in world.each():
        calls.clear()

        strategy.experimental_distribute_values_from_function(value_fn)

        world.equal([(1, 0)] * strategy.num_replicas_in_sync, [(len(args), len(kwargs)) for args, kwargs in calls])
        world.true(all(isinstance(args[0], kinds) for args, _ in calls), "the argument is a ValueContext")


@check("VALUES-03")
def the_result_holds_a_value_for_each_replica(world: World) -> None:
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        values = strategy.experimental_distribute_values_from_function(lambda context: world.tf.constant(1.0))

        # With one replica the value may also be a plain one.
        world.true(count == 1 or isinstance(values, world.tf.distribute.DistributedValues), "a DistributedValues")
        world.equal([1.0] * count, world.locals(strategy, values))


@check("VALUES-04")
def the_function_may_return_whatever_can_become_a_tensor(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        ids = range(strategy.num_replicas_in_sync)
        kinds: list[list[Any]] = [
            [tf.constant(1.0 + index) for index in ids],
            [np.float64(3.0 + index) for index in ids],
            [1 + index for index in ids],
            [[1 + index, 2] for index in ids],
            [np.ones(2) + index for index in ids],
        ]
        for components in kinds:
            values = strategy.experimental_distribute_values_from_function(
                lambda context, components=components: components[context.replica_id_in_sync_group]
            )

            doubled = strategy.run(lambda x: tf.convert_to_tensor(x) * 2, args=(values,))

            world.equal([2 * np.asarray(world.array(part)) for part in components], world.locals(strategy, doubled))


@check("VALUES-05")
def what_cannot_become_a_tensor_is_refused(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        for thing in (object(), {1, 2}):
            with world.raises(TypeError, ValueError):
                values = strategy.experimental_distribute_values_from_function(lambda _, thing=thing: thing)
                strategy.run(tf.convert_to_tensor, args=(values,))


@check("VALUES-06")
def the_values_can_be_run_with_reduced_and_taken_apart(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        ids = strategy.experimental_distribute_values_from_function(lambda context: context.replica_id_in_sync_group)
        ones = strategy.experimental_distribute_values_from_function(lambda context: tf.constant(1.0))

        for values in (ids, strategy.run(tf.constant, args=(ids,))):
            doubled = strategy.run(lambda x: x * 2, args=(values,))
            world.equal([2 * index for index in range(count)], world.locals(strategy, doubled))
        world.equal(float(count), strategy.reduce("SUM", ones, axis=None))
        world.equal([1.0] * count, world.locals(strategy, ones))
        world.equal(list(range(count)), world.locals(strategy, ids))


@check("VALUES-07")
def one_constant_for_each_replica_prints_as_a_tuple_of_tensors(world: World) -> None:
    for strategy in world.each():
        values = strategy.experimental_distribute_values_from_function(lambda context: world.tf.constant(1.0))

        tensors = ["<tf.Tensor: shape=(), dtype=float32, numpy=1.0>"] * strategy.num_replicas_in_sync
        expected = f"({', '.join(tensors)}{',' if len(tensors) == 1 else ''})"
        world.equal(expected, world.text(strategy.experimental_local_results(values)))


@check("VALUES-08")
def an_array_is_distributed_by_replica_id(world: World) -> None:
    array_value = np.array([3.0, 2.0, 1.0])
    for strategy in world.each():

        def make(strategy: Any = strategy) -> Any:
            return strategy.experimental_distribute_values_from_function(
                lambda context: array_value[context.replica_id_in_sync_group]
            )

        if strategy.num_replicas_in_sync > len(array_value):
            with world.raises(IndexError):
                make()
        else:
            expected = (3.0, 2.0, 1.0)[: strategy.num_replicas_in_sync]
            world.equal(expected, strategy.experimental_local_results(make()))


@check("VALUES-09")
def the_number_of_replicas_is_distributed_to_each(world: World) -> None:
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        values = strategy.experimental_distribute_values_from_function(lambda context: context.num_replicas_in_sync)

        world.equal((count,) * count, strategy.experimental_local_results(values))


@check("VALUES-10")
def values_are_handed_through_unconverted(world: World) -> None:
    for strategy in world.each():
        for kind in (np.float64, int, float):
            made = [kind(1000 + index) for index in range(strategy.num_replicas_in_sync)]

            values = strategy.experimental_distribute_values_from_function(
                lambda context, made=made: made[context.replica_id_in_sync_group]
            )

            for expected, got in zip(made, strategy.experimental_local_results(values), strict=True):
                world.same(expected, got)


@check("VALUES-11")
def the_context_tells_for_which_replica_the_value_is(world: World) -> None:
    ids: list[int] = []

    def value_fn(context: Any) -> float:
        ids.append(context.replica_id_in_sync_group)
        return 10.0 * context.replica_id_in_sync_group

    for strategy in world.each():
        ids.clear()

        values = strategy.experimental_distribute_values_from_function(value_fn)

        expected = list(range(strategy.num_replicas_in_sync))
        world.equal(expected, sorted(ids))
        world.equal([10.0 * index for index in expected], world.locals(strategy, values))


@check("VALUES-12")
def the_context_tells_how_many_replicas_there_are(world: World) -> None:
    counts: list[Any] = []

    def value_fn(context: Any) -> float:
        counts.append(context.num_replicas_in_sync)
        return 1.0

    for strategy in world.each():
        counts.clear()

        strategy.experimental_distribute_values_from_function(value_fn)

        count = strategy.num_replicas_in_sync
        world.equal([("int", count)] * count, [(type(told).__name__, told) for told in counts])


@check("VALUES-13")
def placed_values_stay_where_they_are(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        worker_devices = strategy.extended.worker_devices
        multiple_values: list[Any] = []
        for index in range(strategy.num_replicas_in_sync):
            with tf.device(worker_devices[index]):
                multiple_values.append(tf.constant(1.0))

        values = strategy.experimental_distribute_values_from_function(
            lambda context, multiple_values=multiple_values: multiple_values[context.replica_id_in_sync_group]
        )

        results = strategy.experimental_local_results(values)
        world.equal([1.0] * strategy.num_replicas_in_sync, results)
        for index, (expected, got) in enumerate(zip(multiple_values, results, strict=True)):
            world.same(expected, got)
            world.equal(world.full(worker_devices[index]), world.device(got))


@check("VALUES-14", replicas=(1,))
def the_older_name_of_the_replica_id_is_an_alias_or_missing(world: World) -> None:
    for strategy in world.each():

        def value_fn(context: Any) -> float:
            try:
                older = context.replica_id
            except AttributeError:
                # Only one example of one page has this name, so it need not exist.
                return 1.0
            world.equal(context.replica_id_in_sync_group, older)
            return 1.0

        world.equal([1.0], world.locals(strategy, strategy.experimental_distribute_values_from_function(value_fn)))


@check("VALUES-15")
def worker_devices_are_the_devices_of_the_replicas(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        devices = strategy.extended.worker_devices
        results = strategy.experimental_local_results(strategy.run(lambda: tf.constant(1.0 * world.replica_id())))

        world.equal(strategy.num_replicas_in_sync, len(devices))
        for index, result in enumerate(results):
            world.equal(world.device(result), world.full(devices[index]))


@check("VALUES-16", replicas=(2, 3, 8))
def a_per_replica_value_prints_as_a_numbered_block(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        ids = range(world.replicas)
        tensors = strategy.run(lambda: tf.constant(1.0 * world.replica_id()))
        numbers = strategy.run(world.replica_id)
        block = _block([f"<tf.Tensor: shape=(), dtype=float32, numpy={index}.0>" for index in ids])

        world.equal(block, world.text(tensors))
        world.equal(_block([str(index) for index in ids]), world.text(numbers))
        world.equal(f"[{block}, {block}]", world.text([tensors, tensors]))


@check("VALUES-17")
def a_tensor_prints_with_shape_dtype_and_value(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        results = strategy.run(lambda: (tf.constant(6.0), tf.constant([2], dtype=tf.int64)))

        for result, expected in (
            (results[0], "<tf.Tensor: shape=(), dtype=float32, numpy=6.0>"),
            (results[1], "<tf.Tensor: shape=(1,), dtype=int64, numpy=array([2])>"),
        ):
            for tensor in strategy.experimental_local_results(result):
                world.equal(expected, world.text(tensor))


@check("VALUES-18")
def the_v1_flavor_takes_values_that_the_v2_flavor_made(world: World) -> None:
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        # The v1 flavor may have the method itself; as its list of methods lacks it, it need not.
        makers = [_v2_maker(world, strategy), *([strategy] if _makes_values(strategy) else [])]
        for maker in makers:
            values = maker.experimental_distribute_values_from_function(
                lambda context: context.replica_id_in_sync_group
            )

            result = strategy.run(lambda x: x * 2, args=(values,))

            world.equal(list(range(count)), world.locals(strategy, values))
            world.equal([2 * index for index in range(count)], world.locals(strategy, result))


def _makes_values(strategy: Any) -> bool:
    return hasattr(strategy, "experimental_distribute_values_from_function")


def _v2_maker(world: World, strategy: Any) -> Any:
    """Return a v2 strategy with as many replicas, as the examples of the v1 pages use for making values."""
    names = world.names(strategy.num_replicas_in_sync)
    distribute = world.tf.distribute
    return distribute.OneDeviceStrategy(names[0]) if len(names) == 1 else distribute.MirroredStrategy(names)


def _block(lines: list[str]) -> str:
    numbered = ",\n".join(f"  {index}: {line}" for index, line in enumerate(lines))
    return f"PerReplica:{{\n{numbered}\n}}"
