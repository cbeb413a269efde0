"""Planted faults in `run`: in what reaches the replicas, in how often they are called, and in what comes back."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, cast

from conformance.faults import Plant, fault
from refdist import distribute
from refdist._core.base import nest
from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.input import replica_batches
from refdist._core.replicas.values import DistributedValues, Mirrored, PerReplica
from refdist._core.staging.replica_draft import ReplicaDraft
from refdist._core.strategies import arguments, extended
from refdist._core.strategies.arguments import Arguments
from refdist._core.strategies.extended import EagerExtended
from refdist._core.strategies.strategy import Strategy, StrategyBase
from refdist._core.strategies.v1_strategies import StrategyV1
from refdist._core.variables.placement import Placement

Given = tuple[tuple[Any, ...], dict[str, Any]]
"""The positional and the keyword arguments of one replica."""


@fault("RUN-01")
def options_are_taken_by_keyword_only(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def run(self: Any, fn: Any, args: Any = (), kwargs: Any = None, *, options: Any = None) -> Any:
            return original(self, fn, args, kwargs, options)

        return run

    plant.wrap(StrategyBase, "run", wrapper)


@fault("RUN-02")
def the_last_replica_is_forgotten(plant: Plant) -> None:
    def wrapper(original: Any) -> Any:
        def play(count: int, body: Any, *, contexts: Any, **options: Any) -> Any:
            return original(count - 1, body, contexts=contexts[:-1], **options)

        return play

    plant.wrap(extended, "play", wrapper)


@fault("RUN-03")
def every_replica_gets_the_first_positional_arguments(plant: Plant) -> None:
    _change_arguments(plant, lambda given, of, _: (of(0)[0], given[1]))


@fault("RUN-04")
def every_replica_gets_the_first_keyword_arguments(plant: Plant) -> None:
    _change_arguments(plant, lambda given, of, _: (given[0], of(0)[1]))


@fault("RUN-05")
def only_whole_arguments_are_unpacked(plant: Plant) -> None:
    def shallow(self: Any, index: int) -> Given:
        args, kwargs = self._given
        return tuple(_component(value, index) for value in args), {k: _component(v, index) for k, v in kwargs.items()}

    plant.replace(Arguments, "of", shallow)


@fault("RUN-06")
def a_list_of_tensors_is_shared_out_among_the_replicas(plant: Plant) -> None:
    def own(value: Any, index: int) -> Any:
        if not isinstance(value, list):
            return value
        parts = cast("list[Any]", value)
        return parts[index] if len(parts) > index else parts

    _change_arguments(plant, lambda given, _, index: (tuple(own(value, index) for value in given[0]), given[1]))


@fault("RUN-07")
def a_composite_is_handed_over_without_its_indices(plant: Plant) -> None:
    def dense(value: Any) -> Any:
        return value.values if isinstance(value, IndexedSlices) else value

    _change_arguments(plant, lambda given, *_: (tuple(map(dense, given[0])), given[1]))


@fault("RUN-08")
def arbitrary_objects_are_passed_without_a_word(plant: Plant) -> None:
    plant.replace(arguments, "_warn", lambda leaf: None)


@fault("RUN-09")
def the_parts_of_a_step_are_handed_out_from_the_last(plant: Plant) -> None:
    class Step(PerReplica):
        """An element of a distributed dataset."""

    def wrapper(original: Callable[..., Any]) -> Any:
        return lambda self, leaf: original(self, leaf)[:: -1 if isinstance(leaf, Step) else 1]

    plant.replace(replica_batches, "PerReplica", Step)
    plant.wrap(Arguments, "_column", wrapper)


@fault("RUN-10")
def numbers_in_distributed_values_are_taken_for_constants(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def column(self: Arguments, leaf: Any) -> Any:
            parts = original(self, leaf)
            numbers = isinstance(leaf, DistributedValues) and isinstance(parts[0], int)
            return [parts[0]] * len(parts) if numbers else parts

        return column

    plant.wrap(Arguments, "_column", wrapper)


@fault("RUN-11")
def only_the_outermost_container_is_merged_leaf_by_leaf(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def shallow(values: Any) -> Any:
            if isinstance(values[0], dict):
                return {
                    key: PerReplica([value[key] for value in values]) for key in cast("Mapping[str, Any]", values[0])
                }
            return original(values)

        return shallow

    plant.wrap(extended, "regroup", wrapper)


@fault("RUN-12")
def numbers_that_are_returned_become_tensors(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def owned(self: EagerExtended, result: Any, device: Any) -> Any:
            return self.tensor(result, device) if isinstance(result, int) else original(self, result, device)

        return owned

    plant.wrap(EagerExtended, "_owned", wrapper)


@fault("RUN-13")
def a_named_tuple_comes_back_as_a_plain_one(plant: Plant) -> None:
    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(part) for key, part in cast("Mapping[str, Any]", value).items()}
        return tuple(cast("tuple[Any, ...]", value)) if isinstance(value, tuple) else value

    plant.wrap(extended, "regroup", lambda original: lambda values: plain(original(values)))


@fault("RUN-14")
def results_are_of_another_class_than_the_documented_one(plant: Plant) -> None:
    plant.replace(distribute, "DistributedValues", Mirrored)


@fault("RUN-15")
def the_result_of_a_single_replica_is_wrapped_too(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def run(self: EagerExtended, strategy: Any, fn: Any, args: Any, kwargs: Any) -> Any:
            result = original(self, strategy, fn, args, kwargs)
            if self.num_replicas > 1:
                return result
            tensor_type = self.backend.tensor_type
            return nest.map_structure(
                lambda leaf: PerReplica([leaf]) if isinstance(leaf, tensor_type) else leaf, result
            )

        return run

    plant.wrap(EagerExtended, "run", wrapper)


@fault("RUN-16")
def without_positional_arguments_the_keyword_ones_take_their_place(plant: Plant) -> None:
    _change_arguments(plant, lambda given, *_: given if given[0] else (tuple(given[1].values()), {}))


@fault("RUN-17")
def keyword_arguments_that_the_function_does_not_name_are_dropped(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def run(self: EagerExtended, strategy: Any, fn: Any, args: Any, kwargs: Any) -> Any:
            known = inspect.signature(fn).parameters
            return original(
                self, strategy, fn, args, {name: value for name, value in (kwargs or {}).items() if name in known}
            )

        return run

    plant.wrap(EagerExtended, "run", wrapper)


@fault("RUN-18")
def options_leave_only_the_first_result(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def run(self: StrategyBase, fn: Any, args: Any = (), kwargs: Any = None, options: Any = None) -> Any:
            result = original(self, fn, args, kwargs, options)
            return result if options is None else self.experimental_local_results(result)[0]

        return run

    plant.wrap(StrategyBase, "run", wrapper)


@fault("RUN-19")
def the_v1_flavor_calls_the_function_once_more_to_learn_its_outputs(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def run(self: Any, fn: Any, args: Any = (), kwargs: Any = None, options: Any = None) -> Any:
            original(self, fn, args, kwargs, options)
            return original(self, fn, args, kwargs, options)

        return run

    plant.wrap(StrategyV1, "run", wrapper)


@fault("RUN-20")
def mirrored_replicas_are_traced_all_at_once(plant: Plant) -> None:
    _trace_once(plant, Placement.MIRRORED)


@fault("RUN-21")
def central_storage_is_traced_once_for_all_replicas(plant: Plant) -> None:
    _trace_once(plant, Placement.CENTRAL)


@fault("RUN-22")
def a_run_with_the_same_arguments_is_answered_from_memory(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        known: dict[tuple[int, ...], Any] = {}

        def run(self: Any, fn: Any, args: Any = (), kwargs: Any = None, options: Any = None) -> Any:
            asked = (self, fn, *args, *(kwargs or {}).values())
            key = tuple(map(id, asked))
            if key not in known:
                # What was asked is kept too, because the ids of lost objects are given to others.
                known[key] = asked, original(self, fn, args, kwargs, options)
            return known[key][1]

        return run

    plant.wrap(Strategy, "run", wrapper)


@fault("RUN-23")
def central_storage_computes_once_where_all_replicas_have_the_same_input(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def run(self: EagerExtended, strategy: Any, fn: Any, args: Any, kwargs: Any) -> Any:
            tensor_type = self.backend.tensor_type
            results: list[Any] = []

            def once(*own: Any) -> Any:
                if not results or not isinstance(results[0], tensor_type):
                    results[:] = [fn(*own)]
                # A tensor of its own for each replica, as if each had computed it.
                return results[0] + 0 if isinstance(results[0], tensor_type) else results[0]

            same = bool(args) and not kwargs and all(isinstance(value, tensor_type) for value in args)
            return original(
                self, strategy, once if same and self.plan.placement is Placement.CENTRAL else fn, args, kwargs
            )

        return run

    plant.wrap(EagerExtended, "run", wrapper)


@fault("RUN-29")
def results_are_brought_to_the_first_device(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        return lambda self, result, device: original(self, _moved(self, result), device)

    plant.wrap(EagerExtended, "_owned", wrapper)


def _change_arguments(plant: Plant, change: Callable[[Given, Callable[[int], Given], int], Given]) -> None:
    """Let a function change what a replica gets; it may look at what the other replicas get."""

    def wrapper(original: Callable[..., Given]) -> Any:
        return lambda self, index: change(original(self, index), lambda other: original(self, other), index)

    plant.wrap(Arguments, "of", wrapper)


def _trace_once(plant: Plant, placement: Placement) -> None:
    """Let strategies that place variables in one way call a function once for all replicas when it is traced."""

    def wrapper(original: Callable[..., None]) -> Any:
        def init(
            self: ReplicaDraft, compiler: Any, strategy: StrategyBase, *rest: Any, once: bool, **options: Any
        ) -> None:
            here = strategy.extended.plan.placement is placement
            original(self, compiler, strategy, *rest, once=once or here, **options)

        return init

    plant.wrap(ReplicaDraft, "__init__", wrapper)


def _component(value: Any, index: int) -> Any:
    return value.component(index) if isinstance(value, DistributedValues) else value


def _moved(where: EagerExtended, result: Any) -> Any:
    if isinstance(result, tuple):
        return tuple(_moved(where, part) for part in cast("tuple[Any, ...]", result))
    is_tensor = isinstance(result, where.backend.tensor_type)
    return where.backend.copy(result, where.plan.devices[0]) if is_tensor else result
