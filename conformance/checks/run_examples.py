"""Checks of the examples of `run`, which trace either the function or the code around it."""

from typing import Any

from conformance.checks import check
from conformance.checks.values import maker_of_values
from conformance.world import World


@check("RUN-24", replicas=(1,), needs=("function",))
def doubling_a_constant_on_one_replica_prints_a_plain_tensor(world: World) -> None:
    for strategy in world.each():
        world.equal("<tf.Tensor: shape=(), dtype=float32, numpy=6.0>", world.text(_doubled_constant(world, strategy)))


@check("RUN-25", replicas=(1,), needs=("function",))
def doubling_generated_values_on_one_replica_prints_a_plain_tensor(world: World) -> None:
    for strategy in world.each():
        world.equal("<tf.Tensor: shape=(), dtype=int32, numpy=2>", world.text(doubled_replica_count(world, strategy)))


@check("RUN-26", replicas=(2,), needs=("function",))
def doubling_equal_generated_values_on_two_replicas_prints_one_tensor(world: World) -> None:
    for strategy in world.each():
        world.equal("<tf.Tensor: shape=(), dtype=int32, numpy=4>", world.text(doubled_replica_count(world, strategy)))


@check("RUN-27", replicas=(2,), needs=("function",))
def doubling_a_constant_on_two_replicas_prints_both_tensors(world: World) -> None:
    for strategy in world.each():
        world.equal(_block("dtype=float32, numpy=6.0"), world.text(_doubled_constant(world, strategy)))


@check("RUN-28", replicas=(2,), needs=("function",))
def all_reduce_of_generated_values_prints_the_sum_for_both_replicas(world: World) -> None:
    for strategy in world.each():
        world.equal(_block("dtype=int32, numpy=1"), world.text(sum_of_replica_ids(world, strategy)))


@check("RUN-30", needs=("function",), uses=("multi_worker",))
def a_traced_function_may_call_run_and_return_its_result(world: World) -> None:
    def program(strategy: Any, _: int) -> Any:
        def add() -> Any:
            context = world.tf.distribute.get_replica_context()
            return context.all_reduce("sum", world.tf.identity(context.replica_id_in_sync_group))

        step = world.tf.function(lambda: strategy.run(add))
        return world.locals(strategy, step())

    total = sum(range(2 * world.replicas))
    for index, sums in enumerate(world.on_two_workers(program)):
        world.equal([total] * world.replicas, sums, f"the sums over two workers, on worker {index}")
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        step = _traced_step(world, strategy)
        value = world.per_replica(strategy, [1.0 * index for index in range(count)])

        world.equal([2.0 * index for index in range(count)], world.locals(strategy, step(value)["doubled"]))
        if count > 1:
            # The example that reduces has several replicas; there is nothing to reduce on one.
            total = count * (count - 1) // 2
            world.equal([total] * count, world.locals(strategy, sum_of_replica_ids(world, strategy)))


@check("RUN-31", needs=("function",))
def a_step_may_return_nothing(world: World) -> None:
    calls: list[str] = []

    def step(x: Any) -> None:
        calls.append("called")
        return

    for strategy in world.each():
        value = world.per_replica(strategy, [1.0 * index for index in range(strategy.num_replicas_in_sync)])
        for train_step in (step, world.tf.function(step)):
            calls.clear()

            world.same(None, strategy.run(train_step, args=(value,)))
            world.true(len(calls) > 0, "the step runs")


def _traced_step(world: World, strategy: Any) -> Any:
    @world.tf.function
    def step(x: Any) -> Any:
        return strategy.run(lambda x: {"doubled": x * 2.0}, args=(x,))

    return step


def _doubled_constant(world: World, strategy: Any) -> Any:
    tensor_input = world.tf.constant(3.0)

    @world.tf.function
    def replica_fn(input: Any) -> Any:
        return input * 2.0

    return strategy.run(replica_fn, args=(tensor_input,))


def doubled_replica_count(world: World, strategy: Any) -> Any:
    """Make the same number for each replica inside a decorated function, and double it there on the replicas."""
    maker = maker_of_values(world, strategy)

    @world.tf.function
    def run() -> Any:
        def value_fn(value_context: Any) -> Any:
            return value_context.num_replicas_in_sync

        def replica_fn2(input: Any) -> Any:
            return input * 2

        distributed_values = maker.experimental_distribute_values_from_function(value_fn)
        return strategy.run(replica_fn2, args=(distributed_values,))

    return run()


def sum_of_replica_ids(world: World, strategy: Any) -> Any:
    """Make a tensor of its id for each replica inside a decorated function, and add them up there on the replicas."""
    tf = world.tf
    maker = maker_of_values(world, strategy)

    @tf.function
    def run() -> Any:
        def value_fn(value_context: Any) -> Any:
            return tf.constant(value_context.replica_id_in_sync_group)

        def replica_fn(input: Any) -> Any:
            return tf.distribute.get_replica_context().all_reduce("sum", input)

        distributed_values = maker.experimental_distribute_values_from_function(value_fn)
        return strategy.run(replica_fn, args=(distributed_values,))

    return run()


def _block(description: str) -> str:
    """Return the documented text of two equal scalar tensors, one from each replica."""
    tensor = f"<tf.Tensor: shape=(), {description}>"
    return f"PerReplica:{{\n  0: {tensor},\n  1: {tensor}\n}}"
