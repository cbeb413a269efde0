"""Planted faults in `experimental_run`."""

import inspect
import warnings
from collections.abc import Callable
from typing import Any, cast

from conformance.faults import Plant, fault
from refdist._core.base import nest
from refdist._core.base.where import entered
from refdist._core.replicas.context import ReplicaContext
from refdist._core.replicas.values import Mirrored, PerReplica, select
from refdist._core.strategies.v1_strategies import StrategyV1
from refdist._core.variables.variable import Variable

Run = Callable[..., Any]
"""The method itself."""


@fault("V1RUN-01")
def the_iterator_has_another_name(plant: Plant) -> None:
    _wrap(plant, lambda original: lambda self, fn, iterator=None: original(self, fn, iterator))


@fault("V1RUN-02")
def the_text_does_not_say_what_to_use_instead(plant: Plant) -> None:
    def wrapper(original: Run) -> Any:
        def experimental_run(self: StrategyV1, fn: Any, input_iterator: Any = None) -> Any:
            """DEPRECATED: this method is not available in TF 2.x."""
            return original(self, fn, input_iterator)

        return experimental_run

    _wrap(plant, wrapper)


@fault("V1RUN-03")
def a_call_says_nothing(plant: Plant) -> None:
    def wrapper(original: Run) -> Any:
        def experimental_run(self: StrategyV1, fn: Any, input_iterator: Any = None) -> Any:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return original(self, fn, input_iterator)

        return experimental_run

    _wrap(plant, wrapper)


@fault("V1RUN-04")
def a_function_is_executed_on_its_first_run_only(plant: Plant) -> None:
    known: dict[tuple[StrategyV1, Any], Any] = {}

    def wrapper(original: Run) -> Any:
        def experimental_run(self: StrategyV1, fn: Any, input_iterator: Any = None) -> Any:
            if input_iterator is None and (self, fn) in known:
                return known[self, fn]
            return known.setdefault((self, fn), original(self, fn, input_iterator))

        return experimental_run

    _wrap(plant, wrapper)


@fault("V1RUN-05")
def a_graph_is_executed_while_it_is_built(plant: Plant) -> None:
    def wrapper(original: Run) -> Any:
        def experimental_run(self: StrategyV1, fn: Any, input_iterator: Any = None) -> Any:
            with entered(graph=None):
                return original(self, fn, input_iterator)

        return experimental_run

    _wrap(plant, wrapper)


@fault("V1RUN-06")
def every_replica_asks_for_a_next_value(plant: Plant) -> None:
    def wrapper(original: Run) -> Any:
        def experimental_run(self: StrategyV1, fn: Any, input_iterator: Any = None) -> Any:
            count = self.num_replicas_in_sync
            if input_iterator is None or count == 1:
                return original(self, fn, input_iterator)
            own = [select(input_iterator.get_next(), index) for index in range(count)]
            return self.run(fn, args=(PerReplica(own),))

        return experimental_run

    _wrap(plant, wrapper)


@fault("V1RUN-07")
def replicas_are_counted_from_one(plant: Plant) -> None:
    running: list[StrategyV1] = []

    def wrapper(original: Run) -> Any:
        def experimental_run(self: StrategyV1, fn: Any, input_iterator: Any = None) -> Any:
            running.append(self)
            try:
                return original(self, fn, input_iterator)
            finally:
                running.pop()

        return experimental_run

    _wrap(plant, wrapper)
    plant.wrap(
        ReplicaContext,
        "replica_id_in_sync_group",
        lambda original: lambda self: original(self) + (self.strategy in running),
    )


@fault("V1RUN-08")
def the_function_is_tried_before_it_is_run(plant: Plant) -> None:
    def wrapper(original: Run) -> Any:
        def experimental_run(self: StrategyV1, fn: Any, input_iterator: Any = None) -> Any:
            if input_iterator is None:
                self.run(fn)
            return original(self, fn, input_iterator)

        return experimental_run

    _wrap(plant, wrapper)


@fault("V1RUN-09")
def a_pair_is_taken_apart_for_a_function_of_two_parameters(plant: Plant) -> None:
    def spread(fn: Any, element: Any) -> Any:
        needed = [one for one in inspect.signature(fn).parameters.values() if one.default is inspect.Parameter.empty]
        return fn(*element) if isinstance(element, tuple) and len(needed) == 2 else fn(element)

    def wrapper(original: Run) -> Any:
        def experimental_run(self: StrategyV1, fn: Any, input_iterator: Any = None) -> Any:
            if input_iterator is None:
                return original(self, fn)
            return original(self, lambda element: spread(fn, element), input_iterator)

        return experimental_run

    _wrap(plant, wrapper)


@fault("V1RUN-10")
def a_tuple_of_one_is_unpacked(plant: Plant) -> None:
    _change_containers(plant, lambda container: container[0] if len(container) == 1 else container)


@fault("V1RUN-11")
def a_function_without_inputs_gets_none(plant: Plant) -> None:
    def wrapper(original: Run) -> Any:
        def experimental_run(self: StrategyV1, fn: Any, input_iterator: Any = None) -> Any:
            if input_iterator is None and inspect.signature(fn).parameters:
                return self.run(fn, args=(None,))
            return original(self, fn, input_iterator)

        return experimental_run

    _wrap(plant, wrapper)


@fault("V1RUN-12")
def lists_come_back_as_tuples(plant: Plant) -> None:
    _change_containers(plant, tuple)


@fault("V1RUN-13")
def all_values_count_as_mirrored(plant: Plant) -> None:
    _change_leaves(plant, lambda leaf, _: Mirrored(leaf.values) if isinstance(leaf, PerReplica) else leaf)


@fault("V1RUN-14")
def variables_that_are_returned_are_read(plant: Plant) -> None:
    _change_leaves(plant, lambda leaf, _: leaf.read_value() if isinstance(leaf, Variable) else leaf)


@fault("V1RUN-15")
def the_value_of_a_single_replica_is_wrapped(plant: Plant) -> None:
    _change_leaves(plant, lambda leaf, count: PerReplica([leaf]) if count == 1 else leaf)


def _wrap(plant: Plant, wrapper: Callable[[Run], Any]) -> None:
    plant.wrap(StrategyV1, "experimental_run", wrapper)


def _change_leaves(plant: Plant, change: Callable[[Any, int], Any]) -> None:
    """Let a function change the leaves of the merged result; it gets the number of replicas too."""

    def wrapper(original: Run) -> Any:
        def experimental_run(self: StrategyV1, fn: Any, input_iterator: Any = None) -> Any:
            result = original(self, fn, input_iterator)
            return nest.map_structure(lambda leaf: change(leaf, self.num_replicas_in_sync), result)

        return experimental_run

    _wrap(plant, wrapper)


def _change_containers(plant: Plant, change: Callable[[Any], Any]) -> None:
    """Let a function change the tuples and lists in the merged result."""

    def changed(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: changed(part) for key, part in cast("dict[str, Any]", value).items()}
        if isinstance(value, list | tuple):
            parts = [changed(part) for part in cast("list[Any]", value)]
            return change(tuple(parts) if isinstance(value, tuple) else parts)
        return value

    def wrapper(original: Run) -> Any:
        return lambda self, fn, input_iterator=None: changed(original(self, fn, input_iterator))

    _wrap(plant, wrapper)
