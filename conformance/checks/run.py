"""Checks of `run`: what reaches the function on each replica, and what comes back."""

import warnings
from typing import Any, NamedTuple

from conformance.checks import check
from conformance.checks.values import maker_of_values
from conformance.world import World


@check("RUN-01")
def run_has_the_documented_signature(world: World) -> None:
    for strategy in world.each():
        world.signature(strategy.run, ["fn", ("args", ()), ("kwargs", None), ("options", None)])


@check("RUN-02")
def every_replica_runs_the_function_once_with_the_given_arguments(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        count = strategy.num_replicas_in_sync

        def fn(hundreds: Any, tens: Any) -> Any:
            return 100 * hundreds + 10 * tens + tf.constant(world.replica_id())

        result = strategy.run(fn, args=(tf.constant(4),), kwargs={"tens": tf.constant(2)})

        world.equal([420 + index for index in range(count)], sorted(world.locals(strategy, result)))


@check("RUN-03")
def unpacks_distributed_positional_arguments(world: World) -> None:
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        first = world.per_replica(strategy, [3 + 2 * index for index in range(count)])
        second = world.per_replica(strategy, [[10 * index, 1] for index in range(count)])

        def fn(x: Any, y: Any) -> Any:
            world.true(not _is_distributed(world, x), "a positional argument reaches a replica as one component")
            return x + 1, y

        ones, pairs = strategy.run(fn, args=(first, second))

        world.equal([4 + 2 * index for index in range(count)], world.locals(strategy, ones))
        world.equal([[10 * index, 1] for index in range(count)], world.locals(strategy, pairs))


@check("RUN-04")
def unpacks_distributed_keyword_arguments(world: World) -> None:
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        value = world.per_replica(strategy, [3 + 2 * index for index in range(count)])

        def fn(x: Any) -> Any:
            world.true(not _is_distributed(world, x), "a keyword argument reaches a replica as one component")
            return x + 1

        world.equal(
            [4 + 2 * index for index in range(count)], world.locals(strategy, strategy.run(fn, kwargs={"x": value}))
        )


@check("RUN-05")
def unpacks_distributed_values_within_nested_arguments(world: World) -> None:
    for strategy in world.each():
        ids = range(strategy.num_replicas_in_sync)
        tens = world.per_replica(strategy, [10 * index for index in ids])
        hundreds = world.per_replica(strategy, [100 * index for index in ids])
        nest = {"a": tens, "b": [world.tf.constant(1.0), hundreds]}

        def fn(positional: Any, named: Any) -> Any:
            for given in (positional, named):
                parts = (given["a"], *given["b"])
                world.true(not any(_is_distributed(world, part) for part in parts), "nested values are unpacked too")
            return positional["a"], positional["b"][0] + 0.0, positional["b"][1], named["a"], named["b"][1]

        results = [world.locals(strategy, part) for part in strategy.run(fn, args=(nest,), kwargs={"named": nest})]

        expected = [[10 * index for index in ids], [1.0 for _ in ids], [100 * index for index in ids]]
        world.equal([*expected, expected[0], expected[2]], results)


@check("RUN-06")
def passes_nests_of_tensors_to_every_replica_as_they_are(world: World) -> None:
    tf = world.tf
    seen: list[Any] = []

    def fn(several: Any, single: Any, *, nest: Any) -> None:
        containers = [type(part).__name__ for part in (several, nest, nest["t"])]
        world.equal(["list", "dict", "tuple"], containers, "the containers that a replica sees")
        seen.append([[world.array(part) for part in several], world.array(single), world.array(nest["t"][0])])

    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        seen.clear()

        # A list with as many elements as there are replicas is a list all the same.
        several = [tf.constant(float(index)) for index in range(count)]
        strategy.run(fn, args=(several, tf.constant([[5, 6]])), kwargs={"nest": {"t": (tf.constant(7.0),)}})

        world.equal([[[float(index) for index in range(count)], [[5, 6]], 7.0]] * count, seen)


@check("RUN-07")
def hands_each_replica_the_composite_tensor_that_is_its_own(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        count = strategy.num_replicas_in_sync

        def composite() -> Any:
            index = world.replica_id()
            return tf.IndexedSlices(values=tf.constant([[1.0 + index, 2.0]]), indices=tf.constant([10 + index]))

        def fn(slices: Any) -> Any:
            world.true(isinstance(slices, tf.IndexedSlices), "a replica gets one composite, not its parts")
            return slices.values + 0.5, slices.indices + 1

        value = strategy.run(composite)
        # With one replica the composite itself is the value.
        world.true(
            count == 1 or _is_distributed(world, value), "one composite from each replica is a distributed value"
        )
        values, indices = strategy.run(fn, args=(value,))

        world.close([[[1.5 + index, 2.5]] for index in range(count)], world.locals(strategy, values))
        world.equal([[11 + index] for index in range(count)], world.locals(strategy, indices))


@check("RUN-08")
def an_arbitrary_python_object_as_argument_is_refused_or_warned_about(world: World) -> None:
    for strategy in world.each():
        for args, kwargs in (((object(),), {}), ((), {"x": object()})):
            world.true(_is_objected_to(strategy, args, kwargs), "an argument that is no tensor raises or warns")
        # Numbers can become tensors, and the examples pass them.
        world.true(not _is_objected_to(strategy, (3, 2.5), {}), "numbers are accepted without a word")


@check("RUN-09", needs=("data",), uses=("multi_worker",))
def takes_the_elements_of_distributed_datasets(world: World) -> None:
    tf = world.tf
    own = world.replicas

    def program(strategy: Any, index: int) -> Any:
        distributed = strategy.experimental_distribute_datasets_from_function(
            lambda _: tf.data.Dataset.range(100 * index, 100 * index + 2 * own).batch(1)
        )
        return [world.locals(strategy, strategy.run(lambda x: x + 0, args=(x,))) for x in distributed]

    for index, seen in enumerate(world.on_two_workers(program)):
        expected = [[[100 * index + own * step + replica] for replica in range(own)] for step in range(2)]
        world.equal(expected, seen, f"the elements of worker {index}")
    for strategy in world.each():
        count = strategy.num_replicas_in_sync

        def dataset_fn(context: Any, count: int = count) -> Any:
            return tf.data.Dataset.range(2 * count).batch(1)

        dataset = tf.data.Dataset.range(2 * count).batch(count)
        for distributed in (
            strategy.experimental_distribute_dataset(dataset),
            strategy.experimental_distribute_datasets_from_function(dataset_fn),
        ):
            steps = [world.locals(strategy, strategy.run(lambda x: x + 0, args=(x,))) for x in distributed]

            world.equal([[[count * step + index] for index in range(count)] for step in range(2)], steps)


@check("RUN-10")
def takes_generated_distributed_values(world: World) -> None:
    for strategy in world.each():
        values = maker_of_values(world, strategy).experimental_distribute_values_from_function(
            lambda context: context.replica_id_in_sync_group
        )

        result = strategy.run(lambda x: x * 2, args=(values,))

        world.equal([2 * index for index in range(strategy.num_replicas_in_sync)], world.locals(strategy, result))


@check("RUN-11")
def a_function_may_return_a_nest_of_tensors(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        count = strategy.num_replicas_in_sync

        def fn() -> Any:
            index = world.replica_id()
            return {"a": [tf.constant(index), tf.constant([1.0 * index, 5.0])], "b": tf.constant(-index)}

        result = strategy.run(fn)

        world.equal(["dict", "list"], [type(part).__name__ for part in (result, result["a"])])
        world.equal(list(range(count)), world.locals(strategy, result["a"][0]))
        world.equal([[1.0 * index, 5.0] for index in range(count)], world.locals(strategy, result["a"][1]))
        world.equal([-index for index in range(count)], world.locals(strategy, result["b"]))
        marker = object()
        try:
            returned = strategy.run(lambda marker=marker: marker)
        except (TypeError, ValueError):
            continue
        # The older pages allow to refuse what is no tensor, the 2.4 page does not; none allows to change it.
        world.same(marker, returned)


@check("RUN-12")
def a_function_may_return_whatever_it_likes(world: World) -> None:
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        for value in (4, "four", None):
            result = strategy.run(lambda value=value: value)
            world.true(
                type(result) is type(value), f"{value!r} from all replicas comes back as one {type(value).__name__}"
            )
            world.equal(value, result)

        numbers = strategy.experimental_local_results(strategy.run(world.replica_id))

        world.equal([("int", index) for index in range(count)], [(type(number).__name__, number) for number in numbers])


class _Pair(NamedTuple):
    left: Any
    right: Any


@check("RUN-13")
def the_result_has_the_structure_that_the_function_returned(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        ids = list(range(strategy.num_replicas_in_sync))

        def fn() -> Any:
            index = world.replica_id()
            leaves = [tf.constant(index + tens) for tens in (0, 10, 20, 30, 40)]
            return {"a": leaves[0], "b": (leaves[1], [leaves[2]]), "c": _Pair(leaves[3], leaves[4]), "d": None}

        result = strategy.run(fn)

        containers = [type(part).__name__ for part in (result, result["b"], result["b"][1], result["c"])]
        world.equal(["dict", "tuple", "list", "_Pair"], containers)
        world.equal(["a", "b", "c", "d"], sorted(result))
        leaves = [result["a"], result["b"][0], result["b"][1][0], result["c"].left, result["c"].right]
        world.equal(
            [[index + tens for index in ids] for tens in (0, 10, 20, 30, 40)],
            [world.locals(strategy, leaf) for leaf in leaves],
        )
        world.same(None, result["d"])
        world.same(None, strategy.run(lambda: None))


@check("RUN-14", replicas=(2, 3, 8))
def a_leaf_of_several_replicas_holds_one_value_for_each(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        result = strategy.run(lambda: {"single": tf.constant(world.replica_id()), "nested": [tf.constant(5.0)]})

        for leaf in (result["single"], result["nested"][0]):
            world.true(_is_distributed(world, leaf), "a leaf is a DistributedValues")
            world.equal(world.replicas, len(strategy.experimental_local_results(leaf)))


@check("RUN-15", replicas=(1,))
def a_leaf_of_a_single_replica_is_a_plain_tensor(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        result = strategy.run(lambda x: (x * 2.0, {"k": x}), args=(tf.constant(3.0),))

        for expected, leaf in ((6.0, result[0]), (3.0, result[1]["k"])):
            world.true(not _is_distributed(world, leaf), "a leaf is not wrapped")
            world.true(isinstance(leaf, type(tf.constant(0.0))), "a leaf is a tensor")
            world.equal(expected, leaf)


@check("RUN-16")
def positional_arguments_may_be_left_out(world: World) -> None:
    seen: list[Any] = []

    def fn(*args: Any, x: float = 0.0) -> None:
        seen.append((len(args), x))

    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        seen.clear()

        strategy.run(fn)
        strategy.run(fn, kwargs={"x": 2.5})

        world.equal([(0, 0.0)] * count + [(0, 2.5)] * count, seen)


@check("RUN-17")
def keyword_arguments_may_be_left_out(world: World) -> None:
    seen: list[Any] = []

    def fn(*args: Any, **kwargs: Any) -> None:
        seen.append((args, kwargs))

    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        seen.clear()

        for kwargs in ({"scale": 2.0}, None, {}):
            strategy.run(fn, args=(1.0,), kwargs=kwargs)

        world.equal([((1.0,), {"scale": 2.0})] * count + [((1.0,), {})] * (2 * count), seen)


@check("RUN-18")
def run_options_do_not_change_the_result(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        value = world.per_replica(strategy, [1.0 + index for index in range(count)])
        for options in (None, tf.distribute.RunOptions()):
            result = strategy.run(lambda x, y: x * y, args=(value,), kwargs={"y": tf.constant(2.0)}, options=options)

            world.equal(
                [2.0 + 2.0 * index for index in range(count)], world.locals(strategy, result), f"options={options!r}"
            )


@check("RUN-29")
def results_lie_on_the_devices_of_their_replicas(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        expected = world.replica_devices(strategy)

        def fn(x: Any) -> Any:
            return tf.identity(tf.distribute.get_replica_context().replica_id_in_sync_group), x * 2.0

        for result in strategy.run(fn, args=(tf.constant(3.0),)):
            world.equal(expected, [world.device(part) for part in strategy.experimental_local_results(result)])


def _is_distributed(world: World, value: Any) -> bool:
    return isinstance(value, world.tf.distribute.DistributedValues)


def _is_objected_to(strategy: Any, args: Any, kwargs: Any) -> bool:
    """Tell whether a run with these arguments raises or warns."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            strategy.run(lambda *args, **kwargs: None, args=args, kwargs=kwargs)
        except Exception:
            return True
    return bool(heard)
