"""Checks of how often `run` calls the function, eagerly and when it is traced."""

from typing import Any

from conformance.checks import check
from conformance.world import World

STEPS = 5


@check("RUN-19", replicas=(1, 2, 3))
def one_run_calls_the_function_once_or_once_for_each_replica(world: World) -> None:
    for strategy in world.each():
        calls = _calls_in_eager_steps(world, strategy, steps=1)[0]

        world.true(
            1 <= calls <= strategy.num_replicas_in_sync, f"from 1 to {strategy.num_replicas_in_sync} calls, got {calls}"
        )


@check("RUN-20", needs=("function",))
def tracing_calls_the_function_once_or_once_for_each_mirrored_replica(world: World) -> None:
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        mirrored = isinstance(strategy, world.tf.distribute.MirroredStrategy)
        # The newer page, which is that of CentralStorageStrategy, says once for each replica of any strategy.
        once = world.is_a(strategy, "TPUStrategy")
        allowed = {count} if mirrored else {1} if once else {1, count}
        for calls in _calls_in_traced_steps(world, strategy):
            world.true(
                calls in allowed, f"{' or '.join(map(str, sorted(allowed)))} calls in {STEPS} steps, got {calls}"
            )


@check("RUN-21", needs=("function",))
def tracing_calls_the_function_once_for_each_replica_of_any_strategy(world: World) -> None:
    for strategy in world.each():
        world.equal([strategy.num_replicas_in_sync] * 2, _calls_in_traced_steps(world, strategy))


@check("RUN-22")
def eager_runs_call_the_function_anew_at_each_step(world: World) -> None:
    for strategy in world.each():
        calls = _calls_in_eager_steps(world, strategy)
        if isinstance(strategy, world.tf.distribute.MirroredStrategy):
            world.equal([strategy.num_replicas_in_sync] * STEPS, calls)
        else:
            world.true(min(calls) > 0, f"calls at each of {STEPS} steps, got {calls}")


@check("RUN-23")
def eager_runs_call_the_function_once_for_each_replica_in_every_step(world: World) -> None:
    for strategy in world.each():
        world.equal([strategy.num_replicas_in_sync] * STEPS, _calls_in_eager_steps(world, strategy))


def _calls_in_eager_steps(world: World, strategy: Any, steps: int = STEPS) -> list[int]:
    """Count the calls of one function in each of several runs, with the same input."""
    calls = [0] * steps
    step = 0
    three = world.tf.constant(3.0)

    def fn(x: Any) -> Any:
        calls[step] += 1
        return x * 2.0

    for index in range(steps):
        step = index
        world.equal([6.0] * strategy.num_replicas_in_sync, world.locals(strategy, strategy.run(fn, args=(three,))))
    return calls


def _calls_in_traced_steps(world: World, strategy: Any) -> list[int]:
    """Count the calls of a decorated function, and of one that is run inside a decorated function."""
    tf = world.tf
    calls = {"decorated": 0, "surrounded": 0}

    @tf.function
    def decorated(x: Any) -> Any:
        calls["decorated"] += 1
        return x * 2.0

    def surrounded(x: Any) -> Any:
        calls["surrounded"] += 1
        return x * 2.0

    @tf.function
    def surrounding(x: Any) -> Any:
        return strategy.run(surrounded, args=(x,))

    for step in range(STEPS):
        for result in (strategy.run(decorated, args=(tf.constant(1.0 * step),)), surrounding(tf.constant(1.0 * step))):
            # What was traced is used again, with the new input.
            world.equal([2.0 * step] * strategy.num_replicas_in_sync, world.locals(strategy, result))
    return list(calls.values())
