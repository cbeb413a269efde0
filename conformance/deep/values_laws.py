"""Laws of per-replica values: whatever goes in for a replica comes out for that replica."""

from collections.abc import Callable
from typing import Any, cast

from hypothesis import strategies as drawn

from conformance.deep import Draw, deep
from conformance.deep.generators import nests, one_array_per_replica, strategy
from conformance.world import World


@deep("VALUES-03")
def every_array_comes_back_from_its_replica(world: World, draw: Draw) -> None:
    chosen = strategy(world, draw)
    parts = one_array_per_replica(draw, chosen.num_replicas_in_sync)

    values = chosen.experimental_distribute_values_from_function(
        lambda context: world.tf.constant(parts[context.replica_id_in_sync_group])
    )

    world.equal(parts, world.locals(chosen, values))
    world.equal(parts, world.locals(chosen, chosen.run(lambda value: value, args=(values,))))


@deep("RUN-05")
def values_anywhere_in_a_nest_reach_their_replicas(world: World, draw: Draw) -> None:
    chosen = strategy(world, draw)
    ids = range(chosen.num_replicas_in_sync)
    nest = draw("nest", nests(drawn.integers(1, 9)))
    given = _mapped(nest, lambda number: world.per_replica(chosen, [number * index for index in ids]))

    seen: list[list[Any]] = []

    def fn(value: Any) -> None:
        seen.append([world.array(leaf) for leaf in _leaves(value)])

    chosen.run(fn, args=(given,))

    world.equal([[number * index for number in _leaves(nest)] for index in ids], seen)


@deep("RUN-11")
def a_nest_that_is_returned_keeps_its_form(world: World, draw: Draw) -> None:
    chosen = strategy(world, draw)
    ids = range(chosen.num_replicas_in_sync)
    nest = draw("nest", nests(drawn.integers(1, 9)))

    result = chosen.run(lambda: _mapped(nest, lambda number: world.tf.constant(number * world.replica_id())))

    world.equal(_types(nest), _types(_mapped(result, lambda _: 0)), "form of the nest")
    expected = [[number * index for index in ids] for number in _leaves(nest)]
    world.equal(expected, [world.locals(chosen, leaf) for leaf in _leaves(result)])


def _mapped(nest: Any, function: Callable[[Any], Any]) -> Any:
    """Return the nest with another value in the place of each."""
    if isinstance(nest, dict):
        return {key: _mapped(part, function) for key, part in cast("dict[Any, Any]", nest).items()}
    if type(nest) in (list, tuple):
        return type(nest)(_mapped(part, function) for part in nest)
    return function(nest)


def _leaves(nest: Any) -> list[Any]:
    found: list[Any] = []
    _mapped(nest, found.append)
    return found


def _types(nest: Any) -> str:
    """Return the form of a nest, as text with the same number in all places; the order of keys does not count."""
    if isinstance(nest, dict):
        return repr(sorted((key, _types(part)) for key, part in cast("dict[Any, Any]", nest).items()))
    if type(nest) in (list, tuple):
        return type(nest).__name__ + repr([_types(part) for part in nest])
    return "value"
