"""Laws of variables: after any sequence of writes all copies are equal, and are what plain arithmetic says."""

from typing import Any

from hypothesis import strategies as drawn

from conformance.deep import Draw, deep
from conformance.deep.generators import LARGEST
from conformance.world import World

AGGREGATIONS = ("SUM", "MEAN", "ONLY_FIRST_REPLICA")
WRITES = ("assign", "assign_add", "assign_sub")


@deep("VAR-03")
def copies_agree_after_any_writes(world: World, draw: Draw) -> None:
    count = draw("replicas", drawn.integers(1, world.replicas))
    strategy = world.strategy("Mirrored", count)
    name = draw("aggregation", drawn.sampled_from(AGGREGATIONS))
    numbers = drawn.lists(drawn.integers(-LARGEST, LARGEST).map(float), min_size=count, max_size=count)
    writes = draw("writes", drawn.lists(drawn.tuples(drawn.sampled_from(WRITES), numbers), min_size=1, max_size=4))
    with strategy.scope():
        variable = world.tf.Variable(1.0, aggregation=getattr(world.tf.VariableAggregation, name))

    expected = 1.0
    for method, contributions in writes:

        def step(value: Any, method: str = method) -> None:
            getattr(variable, method)(value)

        strategy.run(step, args=(world.per_replica(strategy, contributions),))
        change = {"SUM": sum, "MEAN": _mean, "ONLY_FIRST_REPLICA": _first}[name](contributions)
        expected = {"assign": change, "assign_add": expected + change, "assign_sub": expected - change}[method]

    world.close([expected] * count, world.locals(strategy, variable))


def _mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers)


def _first(numbers: list[float]) -> float:
    return numbers[0]
