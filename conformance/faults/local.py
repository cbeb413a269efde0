"""Planted faults in `experimental_local_results`."""

from collections.abc import Callable
from typing import Any

from conformance.faults import Plant, fault
from refdist._core.replicas import context
from refdist._core.replicas.values import DistributedValues
from refdist._core.strategies.strategy import StrategyBase
from refdist._core.strategies.v1_strategies import StrategyV1
from refdist._core.strategies.verbs import StrategyExtended
from refdist._core.variables.distributed_variable import CentralVariable
from refdist._core.variables.variable import Variable


@fault("LOCAL-01")
def the_local_results_are_a_list(plant: Plant) -> None:
    _change_results(plant, lambda strategy, value, results: list(results))


@fault("LOCAL-02")
def the_local_results_are_an_iterator(plant: Plant) -> None:
    _change_results(plant, lambda strategy, value, results: iter(results))


@fault("LOCAL-03")
def the_last_replica_comes_first(plant: Plant) -> None:
    _change_results(plant, lambda strategy, value, results: results[::-1])


@fault("LOCAL-04")
def a_single_value_is_repeated_for_each_replica(plant: Plant) -> None:
    def repeated(strategy: StrategyBase, value: Any, results: tuple[Any, ...]) -> Any:
        return results if isinstance(value, DistributedValues | Variable) else results * strategy.num_replicas_in_sync

    _change_results(plant, repeated)


@fault("LOCAL-05")
def tensors_come_back_as_numpy_arrays(plant: Plant) -> None:
    def fetched(strategy: StrategyBase, value: Any, results: tuple[Any, ...]) -> Any:
        if not isinstance(value, DistributedValues):
            return results
        backend = strategy.extended.backend
        return tuple(backend.get(part) if isinstance(part, backend.tensor_type) else part for part in results)

    _change_results(plant, fetched)


@fault("LOCAL-06")
def experimental_run_returns_what_the_first_replica_returned(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def experimental_run(self: Any, fn: Any, input_iterator: Any = None) -> Any:
            return self.experimental_local_results(original(self, fn, input_iterator))[0]

        return experimental_run

    plant.wrap(StrategyV1, "experimental_run", wrapper)


@fault("LOCAL-07")
def call_for_each_replica_returns_the_first_result_outside_a_scope(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def call_for_each_replica(self: StrategyExtended, fn: Any, args: Any = (), kwargs: Any = None) -> Any:
            inside = context.in_cross_replica_context()
            result = original(self, fn, args, kwargs)
            return result.values[0] if isinstance(result, DistributedValues) and not inside else result

        return call_for_each_replica

    plant.wrap(StrategyExtended, "call_for_each_replica", wrapper)


@fault("LOCAL-08")
def a_variable_of_central_storage_is_listed_for_each_replica(plant: Plant) -> None:
    def repeated(strategy: StrategyBase, value: Any, results: tuple[Any, ...]) -> Any:
        return results * strategy.num_replicas_in_sync if isinstance(value, CentralVariable) else results

    _change_results(plant, repeated)


@fault("LOCAL-09")
def a_variable_is_taken_for_a_single_value(plant: Plant) -> None:
    _change_results(plant, lambda strategy, value, results: (value,) if isinstance(value, Variable) else results)


@fault("LOCAL-10")
def the_values_of_all_workers_are_returned(plant: Plant) -> None:
    _change_results(
        plant, lambda strategy, value, results: tuple(strategy.extended.from_all_workers("the local results", results))
    )


@fault("LOCAL-11")
def the_argument_has_another_name(plant: Plant) -> None:
    plant.wrap(StrategyBase, "experimental_local_results", lambda original: lambda self, values: original(self, values))


def _change_results(plant: Plant, change: Callable[[StrategyBase, Any, tuple[Any, ...]], Any]) -> None:
    """Let a function change the local results of a value."""

    def wrapper(original: Callable[..., Any]) -> Any:
        def experimental_local_results(self: StrategyBase, value: Any) -> Any:
            return change(self, value, original(self, value))

        return experimental_local_results

    plant.wrap(StrategyBase, "experimental_local_results", wrapper)
