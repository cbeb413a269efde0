"""Planted faults: the documented examples of Strategy.reduce come out otherwise."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from conformance.faults import Plant, fault
from refdist._core.base import nest
from refdist._core.base.enums import ReduceOp
from refdist._core.input.replica_batches import GlobalBatches
from refdist._core.replicas import context
from refdist._core.replicas.values import DistributedValues
from refdist._core.strategies import tpu_strategy as tpu
from refdist._core.strategies.strategy import StrategyBase
from refdist._core.strategies.verbs import StrategyExtended


@fault("REDUCE-11")
def a_mean_is_taken_with_one_replica_after_the_other(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def reduce(self: Any, op: Any, value: Any) -> Any:
            if op is ReduceOp.SUM or not isinstance(value, DistributedValues):
                return original(self, op, value)
            first, *others = value.values
            for other in others:
                first = (first + other) / 2
            return first

        return reduce

    plant.wrap(StrategyExtended, "reduce", wrapper)


@fault("REDUCE-17")
def tpu_results_come_to_the_machine_of_the_program(plant: Plant) -> None:
    def local(original: Callable[..., Any]) -> Any:
        return lambda *args, **options: replace(original(*args, **options), scope_device=None)

    plant.wrap(tpu, "tpu_plan", local)


@fault("REDUCE-18")
def the_result_stays_with_the_first_worker(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def current_device(self: StrategyExtended) -> Any:
            device = original(self)
            return device.at(device.job, 0) if self.plan.workers > 1 else device

        return current_device

    plant.wrap(StrategyExtended, "current_device", wrapper)


@fault("REDUCE-19")
def a_sum_of_integers_is_widened(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def reduce(self: Any, op: Any, value: Any) -> Any:
            result = original(self, op, value)
            return result.astype(np.int64) if result.dtype.kind == "i" else result

        return reduce

    plant.wrap(StrategyExtended, "reduce", wrapper)


@fault("REDUCE-20")
def a_result_stays_with_the_first_replica(plant: Plant) -> None:
    plant.wrap(StrategyExtended, "current_device", lambda _: lambda self: self.plan.devices[0])


@fault("REDUCE-26")
def a_mean_of_scalars_is_that_of_the_first_replica(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def reduce(self: Any, op: Any, value: Any) -> Any:
            if op is ReduceOp.MEAN and isinstance(value, DistributedValues) and not np.shape(value.values[0]):
                return value.values[0]
            return original(self, op, value)

        return reduce

    plant.wrap(StrategyExtended, "reduce", wrapper)


@fault("REDUCE-27")
def examples_are_dealt_out_one_by_one(plant: Plant) -> None:
    def wrapper(original: Callable[..., Iterator[Any]]) -> Any:
        def cut(self: GlobalBatches, elements: Any) -> Iterator[Any]:
            count = self.worker.replicas  # pyright: ignore[reportPrivateUsage]
            if count == 1:
                return original(self, elements)

            def dealt(leaf: Any) -> Any:
                return np.concatenate([leaf[index::count] for index in range(count)])

            elements._elements = (nest.map_structure(dealt, batch) for batch in elements._elements)
            return original(self, elements)

        return cut

    plant.wrap(GlobalBatches, "steps", wrapper)


@fault("REDUCE-28")
def outside_the_scope_a_reduced_scalar_is_a_python_number(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def reduce(self: StrategyBase, reduce_op: Any, value: Any, axis: Any) -> Any:
            result = original(self, reduce_op, value, axis)
            scalar = isinstance(result, self.extended.backend.tensor_type) and not np.shape(result)
            return result if context.in_cross_replica_context() or not scalar else float(result)

        return reduce

    plant.wrap(StrategyBase, "_reduce", wrapper)
