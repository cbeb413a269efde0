"""Planted faults in `experimental_distribute_values_from_function`, and in how values are printed."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from conformance.faults import Plant, fault
from refdist._core.base import convert
from refdist._core.base.options import ValueContext
from refdist._core.devices import tensor
from refdist._core.replicas.values import DistributedValues, Mirrored, PerReplica, regroup
from refdist._core.strategies.extended import EagerExtended
from refdist._core.strategies.strategy import Strategy
from refdist._core.strategies.v1_strategies import StrategyV1

METHOD = "experimental_distribute_values_from_function"


@fault("VALUES-01")
def the_function_may_be_left_out(plant: Plant) -> None:
    plant.wrap(Strategy, METHOD, lambda original: lambda self, value_fn=None: original(self, value_fn))


@fault("VALUES-02")
def the_context_is_of_another_class(plant: Plant) -> None:
    _change_context(plant, lambda context: SimpleNamespace(**_facts(context)))


@fault("VALUES-03")
def equal_tensors_are_merged_into_one(plant: Plant) -> None:
    def merged(strategy: Strategy, values: Any) -> Any:
        if not isinstance(values, PerReplica):
            return values
        first, *others = values.values
        is_tensor = isinstance(first, strategy.extended.backend.tensor_type)
        return first if is_tensor and all(np.array_equal(first, other) for other in others) else values

    _change_result(plant, merged)


@fault("VALUES-04")
def a_list_is_taken_for_the_values_of_all_replicas(plant: Plant) -> None:
    def one_each(strategy: Strategy, context: ValueContext, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        parts = cast("list[Any]", value)
        return parts[context.replica_id_in_sync_group % len(parts)]

    _change_values(plant, one_each)


@fault("VALUES-05")
def anything_can_become_a_tensor(plant: Plant) -> None:
    plant.replace(convert, "_array", np.asarray)


@fault("VALUES-06")
def generated_values_are_taken_for_copies_of_one(plant: Plant) -> None:
    def reducible(original: Callable[..., Any]) -> Any:
        def first_of_mirrored(self: EagerExtended, op: Any, value: Any) -> Any:
            return self.tensor(value.values[0], None) if isinstance(value, Mirrored) else original(self, op, value)

        return first_of_mirrored

    _change_result(
        plant, lambda strategy, values: Mirrored(values.values) if isinstance(values, PerReplica) else values
    )
    plant.wrap(EagerExtended, "_reducible", reducible)


@fault("VALUES-07")
def generated_tensors_come_back_as_numpy_scalars(plant: Plant) -> None:
    _change_values(plant, lambda strategy, context, value: value.numpy() if hasattr(value, "numpy") else value)


@fault("VALUES-08")
def an_error_of_the_function_is_replaced_by_another(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def make(self: Any, value_fn: Any) -> Any:
            try:
                return original(self, value_fn)
            except IndexError as error:
                raise RuntimeError("value_fn failed") from error

        return make

    plant.wrap(Strategy, METHOD, wrapper)


@fault("VALUES-09")
def equal_numbers_are_merged_into_one(plant: Plant) -> None:
    _change_result(plant, lambda strategy, values: regroup(values.values) if isinstance(values, PerReplica) else values)


@fault("VALUES-10")
def generated_values_are_converted_to_tensors(plant: Plant) -> None:
    _change_values(plant, lambda strategy, context, value: strategy.extended.tensor(value, None))


@fault("VALUES-11")
def replicas_are_counted_from_the_last(plant: Plant) -> None:
    def from_the_last(context: ValueContext) -> ValueContext:
        count = context.num_replicas_in_sync
        return ValueContext(count - 1 - context.replica_id_in_sync_group, count)

    _change_context(plant, from_the_last)


@fault("VALUES-12")
def the_context_counts_the_replicas_so_far(plant: Plant) -> None:
    _change_context(
        plant, lambda context: ValueContext(context.replica_id_in_sync_group, context.replica_id_in_sync_group + 1)
    )


@fault("VALUES-13")
def generated_tensors_are_moved_to_the_first_device(plant: Plant) -> None:
    def moved(strategy: Strategy, context: ValueContext, value: Any) -> Any:
        extended = strategy.extended
        is_tensor = isinstance(value, extended.backend.tensor_type)
        return extended.backend.copy(value, extended.plan.devices[0]) if is_tensor else value

    _change_values(plant, moved)


@fault("VALUES-14")
def the_older_replica_id_counts_from_one(plant: Plant) -> None:
    plant.wrap(ValueContext, "replica_id", lambda original: lambda self: original(self) + 1)


@fault("VALUES-15")
def worker_devices_are_listed_from_the_last(plant: Plant) -> None:
    plant.wrap(EagerExtended, "worker_devices", lambda original: lambda self: original(self)[::-1])


@fault("VALUES-16")
def a_per_replica_value_prints_on_one_line(plant: Plant) -> None:
    plant.wrap(PerReplica, "__repr__", lambda original: lambda self: " ".join(original(self).split()))


@fault("VALUES-17")
def a_scalar_prints_with_its_numpy_type(plant: Plant) -> None:
    plant.replace(tensor, "numpy_text", lambda array: repr(np.asarray(array)[()]))


@fault("VALUES-18")
def the_v1_flavor_takes_generated_numbers_for_constants(plant: Plant) -> None:
    def constant(value: Any) -> Any:
        is_constant = isinstance(value, DistributedValues) and isinstance(value.values[0], int)
        return value.values[0] if is_constant else value

    def wrapper(original: Callable[..., Any]) -> Any:
        def run(self: Any, fn: Any, args: Any = (), kwargs: Any = None, options: Any = None) -> Any:
            return original(self, fn, tuple(map(constant, args)), kwargs, options)

        return run

    plant.wrap(StrategyV1, "run", wrapper)


def _facts(context: ValueContext) -> dict[str, int]:
    return {
        "replica_id_in_sync_group": context.replica_id_in_sync_group,
        "num_replicas_in_sync": context.num_replicas_in_sync,
    }


def _change_context(plant: Plant, change: Callable[[ValueContext], Any]) -> None:
    """Let a function change what a value function is told."""
    plant.wrap(
        Strategy,
        METHOD,
        lambda original: lambda self, value_fn: original(self, lambda context: value_fn(change(context))),
    )


def _change_values(plant: Plant, change: Callable[[Strategy, ValueContext, Any], Any]) -> None:
    """Let a function change each value that a value function makes."""

    def wrapper(original: Callable[..., Any]) -> Any:
        return lambda self, value_fn: original(self, lambda context: change(self, context, value_fn(context)))

    plant.wrap(Strategy, METHOD, wrapper)


def _change_result(plant: Plant, change: Callable[[Strategy, Any], Any]) -> None:
    """Let a function change what is made of all values."""
    plant.wrap(Strategy, METHOD, lambda original: lambda self, value_fn: change(self, original(self, value_fn)))
