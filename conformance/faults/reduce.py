"""Planted faults: Strategy.reduce takes other arguments, computes otherwise, or leaves the result elsewhere."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from conformance.faults import Plant, fault
from refdist._core.backends import host_backend as host
from refdist._core.base.enums import ReduceOp
from refdist._core.replicas.values import DistributedValues, PerReplica
from refdist._core.seam.backend import host_device
from refdist._core.strategies import strategy
from refdist._core.strategies.strategy import Strategy, StrategyBase
from refdist._core.strategies.v1_strategies import StrategyV1
from refdist._core.strategies.verbs import StrategyExtended
from refdist._core.variables.placement import Placement


@fault("REDUCE-01")
def v2_leaves_out_the_axis_too(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def reduce(self: Any, reduce_op: Any, value: Any, axis: Any = None) -> Any:
            return original(self, reduce_op, value, axis)

        return reduce

    plant.wrap(Strategy, "reduce", wrapper)


@fault("REDUCE-02")
def v1_requires_the_axis_too(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def reduce(self: Any, reduce_op: Any, value: Any, axis: Any) -> Any:
            return original(self, reduce_op, value, axis)

        return reduce

    plant.wrap(StrategyV1, "reduce", wrapper)


@fault("REDUCE-03")
def v1_reduces_over_the_batch_by_default(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def reduce(self: Any, reduce_op: Any, value: Any, axis: Any = 0) -> Any:
            return original(self, reduce_op, value, axis)

        return reduce

    plant.wrap(StrategyV1, "reduce", wrapper)


@fault("REDUCE-04")
def no_axis_means_all_axes_as_in_numpy(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def reduce(self: Any, reduce_op: Any, value: Any, axis: Any) -> Any:
            whole = axis is None and ReduceOp.of(reduce_op) is ReduceOp.SUM
            rank = len(np.shape(self.experimental_local_results(value)[0]))
            return original(self, reduce_op, value, tuple(range(rank)) if whole and rank else axis)

        return reduce

    plant.wrap(StrategyBase, "_reduce", wrapper)


@fault("REDUCE-05")
def a_sum_ignores_the_axis(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def reduce(self: Any, reduce_op: Any, value: Any, axis: Any) -> Any:
            return original(self, reduce_op, value, None if ReduceOp.of(reduce_op) is ReduceOp.SUM else axis)

        return reduce

    plant.wrap(StrategyBase, "_reduce", wrapper)


@fault("REDUCE-06")
def a_mean_over_replicas_is_cut_to_a_whole_number(plant: Plant) -> None:
    plant.wrap(host, "mean", lambda original: lambda total, count: np.asarray(np.floor(original(total, count))))


@fault("REDUCE-07")
def a_mean_over_examples_forgets_to_divide_by_the_replicas(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def reduce_axes(extended: Any, op: Any, value: Any, axis: Any) -> Any:
            result = original(extended, op, value, axis)
            return result * extended.num_replicas if op is ReduceOp.MEAN else result

        return reduce_axes

    plant.wrap(strategy, "reduce_axes", wrapper)


@fault("REDUCE-08")
def parts_are_cut_to_the_size_of_the_smallest(plant: Plant) -> None:
    plant.wrap(
        StrategyExtended,
        "reduce",
        lambda original: lambda self, op, value: original(self, op, _of_parts(value, _cut)),
    )


@fault("REDUCE-09")
def a_sum_over_examples_leaves_out_what_other_replicas_have_not(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def reduce_axes(extended: Any, op: Any, value: Any, axis: Any) -> Any:
            return original(extended, op, _of_parts(value, _cut) if op is ReduceOp.SUM else value, axis)

        return reduce_axes

    plant.wrap(strategy, "reduce_axes", wrapper)


@fault("REDUCE-10")
def a_mean_over_examples_is_a_mean_of_means(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def reduce_axes(extended: Any, op: Any, value: Any, axis: Any) -> Any:
            if op is ReduceOp.SUM or not isinstance(value, DistributedValues):
                return original(extended, op, value, axis)
            return extended.reduce(op, PerReplica([part.mean(axis=axis) for part in value.values]))

        return reduce_axes

    plant.wrap(strategy, "reduce_axes", wrapper)


@fault("REDUCE-12")
def whatever_is_no_operation_means_sum(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        return lambda cls, choice: original(cls, choice) if isinstance(choice, ReduceOp | str) else ReduceOp.SUM

    plant.wrap(ReduceOp, "of", wrapper)


@fault("REDUCE-13")
def every_string_means_sum(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        return lambda cls, choice: ReduceOp.SUM if isinstance(choice, str) else original(cls, choice)

    plant.wrap(ReduceOp, "of", wrapper)


@fault("REDUCE-14")
def lower_case_is_never_recognised_as_sum(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        return lambda cls, choice: ReduceOp.MEAN if choice == "sum" else original(cls, choice)

    plant.wrap(ReduceOp, "of", wrapper)


@fault("REDUCE-15")
def results_always_go_to_the_host(plant: Plant) -> None:
    plant.wrap(StrategyExtended, "current_device", lambda _: lambda self: host_device(self.backend))


@fault("REDUCE-16")
def results_are_numpy_arrays(plant: Plant) -> None:
    plant.wrap(
        StrategyExtended,
        "reduce",
        lambda original: lambda self, op, value: self.backend.get(original(self, op, value)),
    )


@fault("REDUCE-21")
def equal_results_are_counted_once(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def reduce(self: Any, op: Any, value: Any) -> Any:
            parts = _parts(value)
            equal = len(parts) > 1 and all(np.array_equal(parts[0], part) for part in parts)
            return original(self, ReduceOp.MEAN if equal else op, value)

        return reduce

    plant.wrap(StrategyExtended, "reduce", wrapper)


@fault("REDUCE-22")
def a_tensor_from_elsewhere_comes_back_as_it_is(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def reduce_axes(extended: Any, op: Any, value: Any, axis: Any) -> Any:
            plan = extended.plan
            elsewhere = plan.placement is Placement.PLAIN and value.device != plan.devices[0]
            return value if elsewhere else original(extended, op, value, axis)

        return reduce_axes

    plant.wrap(strategy, "reduce_axes", wrapper)


@fault("REDUCE-23")
def values_made_by_a_function_are_a_list(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        return lambda self, value_fn: list(original(self, value_fn).values)

    plant.wrap(Strategy, "experimental_distribute_values_from_function", wrapper)


@fault("REDUCE-24")
def the_axis_is_always_the_first(plant: Plant) -> None:
    plant.wrap(
        strategy,
        "reduce_axes",
        lambda original: lambda extended, op, value, _: original(extended, op, value, 0),
    )


@fault("REDUCE-25")
def dimensions_of_size_one_are_dropped(plant: Plant) -> None:
    plant.wrap(
        StrategyExtended, "reduce", lambda original: lambda self, op, value: np.squeeze(original(self, op, value))
    )


def _parts(value: Any) -> Sequence[Any]:
    return value.values if isinstance(value, DistributedValues) else [value]


def _of_parts(value: Any, change: Callable[[Sequence[Any]], list[Any]]) -> Any:
    """Change the components of a per-replica value, and leave any other value alone."""
    return PerReplica(change(value.values)) if isinstance(value, DistributedValues) else value


def _cut(parts: Sequence[Any]) -> list[Any]:
    """Cut vectors to the length of the shortest."""
    shapes = [np.shape(part) for part in parts]
    return [part[: min(shapes)[0]] if shapes[0] else part for part in parts]
