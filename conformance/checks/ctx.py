"""Checks of CTX: replica context and cross-replica context, and how code asks which one it is in."""

from collections.abc import Callable
from typing import Any

from conformance.checks import check
from conformance.world import World


@check("CTX-01")
def get_replica_context_in_run_gives_a_replica_context(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        seen: list[Any] = []

        def step(seen: list[Any] = seen) -> Any:
            context = tf.distribute.get_replica_context()
            seen.append(context)
            world.true(isinstance(context, tf.distribute.ReplicaContext), "the context is a ReplicaContext")
            replica = int(context.replica_id_in_sync_group)
            return context.all_reduce(tf.distribute.ReduceOp.SUM, tf.constant(replica + 1.0))

        result = strategy.run(step)

        world.equal(count, len(seen), "contexts seen")
        world.equal([count * (count + 1) / 2] * count, world.locals(strategy, result))


@check("CTX-02")
def run_calls_its_function_in_replica_context(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        contexts: list[Any] = []
        crossed: list[bool] = []

        def step(contexts: list[Any] = contexts, crossed: list[bool] = crossed) -> Any:
            contexts.append(tf.distribute.get_replica_context())
            crossed.append(bool(tf.distribute.in_cross_replica_context()))
            return tf.constant(0)

        with strategy.scope():
            strategy.run(step)
            after = tf.distribute.get_replica_context(), bool(tf.distribute.in_cross_replica_context())

        world.true(None not in contexts, "there is a replica context in the function")
        world.equal(count, len({id(context) for context in contexts}), "different contexts")
        world.equal([False] * count, crossed, "in_cross_replica_context() in the function")
        world.equal((None, True), after, "get_replica_context() and in_cross_replica_context() after run, in the scope")


@check("CTX-03")
def operations_in_replica_context_are_done_for_each_replica(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        value = world.per_replica(strategy, [index + 1 for index in range(count)])
        operations: list[Any] = []

        def step(x: Any, operations: list[Any] = operations) -> Any:
            operations.append(tf.identity(x))
            return x * 10

        result = strategy.run(step, args=(value,))

        world.equal([10 * (index + 1) for index in range(count)], world.locals(strategy, result))
        world.equal(count, len(operations), "operations carried out")
        world.equal([index + 1 for index in range(count)], sorted(int(world.array(each)) for each in operations))


@check("CTX-04")
def replicas_are_numbered_from_zero(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        expected = list(range(strategy.num_replicas_in_sync))
        for convert in (tf.identity, tf.constant):

            def step(convert: Any = convert) -> Any:
                return convert(tf.distribute.get_replica_context().replica_id_in_sync_group)

            ids = strategy.run(step)
            parts = world.locals(strategy, ids)

            world.equal(expected, parts, "replica ids in order")
            world.equal(["int32"] * len(expected), [part.dtype.name for part in parts], "dtypes")


@check("CTX-05", uses=("multi_worker",))
def all_reduce_gives_every_replica_the_combined_value(world: World) -> None:
    tf = world.tf

    def step() -> Any:
        context = tf.distribute.get_replica_context()
        return context.all_reduce(tf.distribute.ReduceOp.SUM, tf.constant(float(world.replica_id())))

    def program(strategy: Any, _: int) -> Any:
        return world.locals(strategy, strategy.run(step))

    total = sum(range(2 * world.replicas))
    for index, sums in enumerate(world.on_two_workers(program)):
        world.equal([total] * world.replicas, sums, f"the sums over two workers, on worker {index}")
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        expected = [count * (count - 1) / 2] * count
        world.equal(expected, world.locals(strategy, strategy.run(step)))


@check("CTX-06")
def all_reduce_takes_the_operation_as_a_lower_case_text(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        count = strategy.num_replicas_in_sync

        def step() -> Any:
            context = tf.distribute.get_replica_context()
            value = tf.constant(float(world.replica_id() + 1))
            return context.all_reduce("sum", value), context.all_reduce(tf.distribute.ReduceOp.SUM, value)

        by_text, by_member = strategy.run(step)

        world.equal([count * (count + 1) / 2] * count, world.locals(strategy, by_text))
        world.equal(world.locals(strategy, by_member), world.locals(strategy, by_text))


@check("CTX-07", replicas=(2, 3, 8))
def all_reduce_leaves_its_results_on_the_replicas(world: World) -> None:
    tf = world.tf
    for strategy in world.each():

        def step() -> Any:
            value = tf.constant(float(world.replica_id()))
            return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, value)

        combined = strategy.run(step)
        reduced = strategy.reduce(tf.distribute.ReduceOp.SUM, combined, axis=None)

        world.equal(
            world.replica_devices(strategy),
            [world.device(part) for part in strategy.experimental_local_results(combined)],
            "devices after all_reduce",
        )
        host, _, _ = world.replica_devices(strategy)[0].rpartition("/device:")
        world.equal(f"{host}/device:CPU:0", world.device(reduced), "device after reduce")


@check("CTX-08")
def a_step_with_all_reduce_keeps_the_copies_of_a_variable_equal(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        with strategy.scope():
            weight = tf.Variable(1.0, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)

        def step(weight: Any = weight) -> Any:
            gradient = tf.constant(float(world.replica_id()))
            mean = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.MEAN, gradient)
            weight.assign_sub(0.5 * mean)
            return weight.read_value()

        expected = 1.0 - 0.5 * (count - 1) / 2
        world.close([expected] * count, world.locals(strategy, strategy.run(step)), "read by the replicas")
        copies = world.locals(strategy, weight)
        world.close([expected] * len(copies), copies, "the copies")


@check("CTX-09", replicas=(2, 3, 8))
def reduce_to_and_batch_reduce_to_bring_results_where_they_are_asked_to(world: World) -> None:
    tf = world.tf
    first, *_, last = world.names()
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        ones = world.per_replica(strategy, [1.0] * count)
        ids = world.per_replica(strategy, [float(index) for index in range(count)])
        with strategy.scope():
            single = strategy.extended.reduce_to(tf.distribute.ReduceOp.SUM, ids, destinations=last)
            batch = strategy.extended.batch_reduce_to(tf.distribute.ReduceOp.SUM, [(ones, last), (ids, first)])

        world.equal(2, len(batch), "results of batch_reduce_to")
        total = count * (count - 1) / 2
        for expected, place, result in ((total, last, single), (count, last, batch[0]), (total, first, batch[1])):
            (part,) = strategy.experimental_local_results(result)
            world.equal(float(expected), part)
            world.equal(world.full(place), world.device(part), "device of the result")


@check("CTX-10", replicas=(2, 3, 8))
def reductions_to_a_place_are_refused_in_replica_context(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        for call in calls_of_cross_replica_context(world, strategy):

            def step(call: Any = call) -> Any:
                with world.raises():
                    call()
                return tf.constant(0)

            strategy.run(step)
            with strategy.scope():
                world.equal([float(world.replicas)], world.locals(strategy, call()))


@check("CTX-11")
def library_code_sees_the_replica_that_calls_it(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        count = strategy.num_replicas_in_sync

        def step() -> Any:
            own = tf.distribute.get_replica_context()
            world.same(own, library_context(world), "the context that library code sees")
            return share_of_total(world, tf.constant(float(world.replica_id() + 1)))

        total = count * (count + 1) / 2
        expected = [(index + 1) / total for index in range(count)]
        world.close(expected, world.locals(strategy, strategy.run(step)))


@check("CTX-12", replicas=(1,))
def the_default_strategy_does_nothing_special(world: World) -> None:
    tf = world.tf
    default = tf.distribute.get_strategy()
    tensor, outside = tf.constant([1.0, 2.0]), tf.Variable(1.0)

    doubled = default.run(lambda x: x * 2.0, args=(3.0,))
    same = default.run(lambda: tensor)
    with default.scope():
        inside = tf.Variable(1.0)
    reduced = default.reduce("SUM", tensor, axis=None)

    world.equal(1, default.num_replicas_in_sync)
    world.true(not isinstance(doubled, tf.distribute.DistributedValues), "run returns what the function returns")
    world.equal(6.0, doubled)
    world.same(tensor, same, "the tensor that the function returned")
    world.true(type(outside) is type(inside), "a variable made in the scope has the class of others")
    world.equal([world.full("CPU:0")], [world.device(copy) for copy in default.experimental_local_results(inside)])
    world.equal([1.0, 2.0], reduced)


def calls_of_cross_replica_context(world: World, strategy: Any) -> tuple[Callable[[], Any], ...]:
    """Return three ways of adding up ones over the replicas, whose argument is right in any context."""
    extended, op = strategy.extended, world.tf.distribute.ReduceOp.SUM
    ones = world.per_replica(strategy, [1.0] * strategy.num_replicas_in_sync)
    return (
        lambda: strategy.reduce(op, ones, axis=None),
        lambda: extended.reduce_to(op, ones, destinations="CPU:0"),
        lambda: extended.batch_reduce_to(op, [(ones, "CPU:0")])[0],
    )


def library_context(world: World) -> Any:
    """Look at the current context without having been told it, as library code does."""
    return world.tf.distribute.get_replica_context()


def share_of_total(world: World, value: Any) -> Any:
    """Divide a value by its sum over all replicas."""
    return value / library_context(world).all_reduce(world.tf.distribute.ReduceOp.SUM, value)
