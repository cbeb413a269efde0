"""Planted faults in runs that are traced: in what goes in, in what comes out, and in how it prints."""

from collections.abc import Callable
from typing import Any

from conformance.faults import Plant, fault
from refdist._core.base import nest
from refdist._core.base.where import HERE
from refdist._core.replicas import context
from refdist._core.replicas.values import DistributedValues, PerReplica
from refdist._core.staging import replica_programs as each_replica
from refdist._core.staging.function import Function
from refdist._core.staging.staged_strategy import StagedExtended
from refdist._core.strategies.strategy import StrategyBase
from refdist._core.variables.variable import Variable


@fault("RUN-24")
def a_program_of_one_replica_returns_a_per_replica_value(plant: Plant) -> None:
    def wrap_single(strategy: StrategyBase, result: Any) -> Any:
        tensor_type = strategy.extended.backend.tensor_type
        single = strategy.num_replicas_in_sync == 1 and isinstance(result, tensor_type)
        return PerReplica([result]) if single else result

    _change_results(plant, wrap_single)


@fault("RUN-25")
def a_number_made_for_a_single_replica_becomes_a_float(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def localised(self: StagedExtended, leaf: Any, once: bool) -> Any:
            value = original(self, leaf, once)
            return float(value) if isinstance(leaf, PerReplica) and isinstance(value, int) else value

        return localised

    plant.wrap(StagedExtended, "_localised", wrapper)


@fault("RUN-26")
def equal_numbers_stay_per_replica_in_a_program(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def regroup(values: Any) -> Any:
            numbers = all(isinstance(one, list) and isinstance(one[0], int) for one in values)
            return [PerReplica([one[0] for one in values])] if numbers else original(values)

        return regroup

    plant.wrap(each_replica, "regroup", wrapper)


@fault("RUN-27")
def equal_tensors_leave_a_program_as_one(plant: Plant) -> None:
    def merged(strategy: StrategyBase, result: Any) -> Any:
        if not isinstance(result, DistributedValues) or isinstance(result, Variable):
            return result
        first = result.values[0]
        return first if all(repr(value) == repr(first) for value in result.values) else result

    _change_results(plant, merged)


@fault("RUN-28")
def a_program_adds_up_only_what_is_not_an_integer(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def combined(self: Any, op: Any, tensor: Any, *rest: Any) -> Any:
            return tensor * 1 if tensor.dtype.kind in "iu" else original(self, op, tensor, *rest)

        return combined

    plant.wrap(StagedExtended, "_combined", wrapper)


@fault("RUN-30")
def a_run_inside_a_function_gets_the_first_component(plant: Plant) -> None:
    def first(leaf: Any) -> Any:
        return leaf.values[0] if isinstance(leaf, DistributedValues) and not isinstance(leaf, Variable) else leaf

    def wrapper(original: Callable[..., Any]) -> Any:
        def run(self: Any, fn: Any, args: Any = (), kwargs: Any = None, options: Any = None) -> Any:
            if HERE.get().draft is None:
                return original(self, fn, args, kwargs, options)
            context.require_known(self)
            return original(self, fn, nest.map_structure(first, args), kwargs, options)

        return run

    plant.wrap(StrategyBase, "run", wrapper)


@fault("RUN-31")
def a_traced_step_that_returns_nothing_returns_an_empty_tuple(plant: Plant) -> None:
    _change_results(plant, lambda strategy, result: () if result is None else result)


def _change_results(plant: Plant, change: Callable[[StrategyBase, Any], Any]) -> None:
    """Let a function change what comes back when a decorated function is run on the replicas."""

    def wrapper(original: Callable[..., Any]) -> Any:
        def run_in_replicas(self: Function, strategy: StrategyBase, *rest: Any) -> Any:
            return change(strategy, original(self, strategy, *rest))

        return run_in_replicas

    plant.wrap(Function, "run_in_replicas", wrapper)
