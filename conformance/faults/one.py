"""Faults of OneDeviceStrategy."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from conformance.faults import Plant, fault
from refdist._core.base import nest
from refdist._core.base.enums import VariableAggregation
from refdist._core.base.options import InputContext, InputOptions
from refdist._core.base.where import HERE, entered
from refdist._core.devices.device import Device
from refdist._core.input.replica_batches import GlobalBatches, Placer
from refdist._core.input.sharding import global_batch_size
from refdist._core.replicas import context
from refdist._core.seam.backend import host_device
from refdist._core.strategies import extended, strategy
from refdist._core.strategies.extended import EagerExtended
from refdist._core.strategies.one_device import OneDeviceStrategy
from refdist._core.strategies.strategy import StrategyBase
from refdist._core.strategies.v1_strategies import OneDeviceStrategyV1
from refdist._core.variables import creation
from refdist._core.variables.variable import Variable
from refdist.compat import v1


@fault("ONE-01")
def the_device_has_a_default(plant: Plant) -> None:
    plant.wrap(OneDeviceStrategy, "__init__", lambda original: lambda self, device="CPU:0": original(self, device))


@fault("ONE-03")
def the_surrounding_device_scope_wins(plant: Plant) -> None:
    plant.replace(creation, "entered", lambda device: entered(device=HERE.get().device or device))


@fault("ONE-04")
def variables_have_the_short_name_of_their_device(plant: Plant) -> None:
    plant.wrap(Variable, "device", lambda original: lambda self: f"/{Device(original(self)).short}")


@fault("ONE-06")
def a_single_replica_runs_where_its_caller_is(plant: Plant) -> None:
    plant.replace(extended, "entered", lambda frame, device: entered(frame=frame, device=HERE.get().device))


@fault("ONE-07")
def python_numbers_are_remembered_from_the_first_call(plant: Plant) -> None:
    first: dict[Any, Any] = {}

    def remembering(original: Any) -> Any:
        def run(self: EagerExtended, strategy: Any, fn: Any, args: Any, kwargs: Any) -> Any:
            numbers = args and all(type(arg) is int for arg in args)
            return original(self, strategy, fn, first.setdefault((self, fn), args) if numbers else args, kwargs)

        return run

    plant.wrap(EagerExtended, "run", remembering)


@fault("ONE-09")
def every_device_of_the_machine_counts_as_a_replica(plant: Plant) -> None:
    def counting(original: Any) -> Any:
        def count(self: StrategyBase) -> int:
            plan = self.extended.plan
            return len(plan.backend.devices()) if plan.name == "one_device" else original(self)

        return count

    plant.wrap(StrategyBase, "num_replicas_in_sync", counting)


@fault("ONE-13")
def local_results_hold_the_value_of_a_variable(plant: Plant) -> None:
    def reading(self: Any, value: Any) -> tuple[Any, ...]:
        return (value.read_value() if isinstance(value, Variable) else value,)

    plant.replace(OneDeviceStrategy, "experimental_local_results", reading)


@fault("ONE-14")
def reduce_brings_the_value_to_the_host(plant: Plant) -> None:
    def moving(original: Any) -> Any:
        def reduce(self: OneDeviceStrategy, reduce_op: Any, value: Any, axis: Any) -> Any:
            return self.extended.tensor(original(self, reduce_op, value, axis), host_device(self.extended.backend))

        return reduce

    plant.wrap(OneDeviceStrategy, "reduce", moving)


@fault("ONE-15")
def reduce_takes_the_first_axis_whichever_is_named(plant: Plant) -> None:
    def first(original: Any) -> Any:
        return lambda self, reduce_op, value, axis: original(self, reduce_op, value, None if axis is None else 0)

    plant.wrap(OneDeviceStrategy, "reduce", first)


@fault("ONE-16")
def axis_zero_counts_as_no_axis(plant: Plant) -> None:
    def unless_zero(original: Any) -> Any:
        return lambda self, reduce_op, value, axis: original(self, reduce_op, value, axis or None)

    plant.wrap(OneDeviceStrategy, "reduce", unless_zero)


@fault("ONE-17")
def python_numbers_become_tensors_on_the_way_in(plant: Plant) -> None:
    def converting(original: Any) -> Any:
        def run(self: OneDeviceStrategy, fn: Any, args: Any = (), kwargs: Any = None, options: Any = None) -> Any:
            def tensor(leaf: Any) -> Any:
                return self.extended.tensor(leaf, None) if isinstance(leaf, int | float) else leaf

            return original(self, fn, nest.map_structure(tensor, args), kwargs, options)

        return run

    plant.wrap(OneDeviceStrategy, "run", converting)


@fault("ONE-18")
def results_are_packed_into_new_containers(plant: Plant) -> None:
    def packing(original: Any) -> Any:
        return lambda self, *args, **kwargs: nest.map_structure(lambda leaf: leaf, original(self, *args, **kwargs))

    plant.wrap(OneDeviceStrategy, "run", packing)


@fault("ONE-19")
def enabling_eager_execution_disables_it(plant: Plant) -> None:
    class Symbol:
        """What a graph has in place of a number."""

        def __add__(self, other: Any) -> Any:
            return self

        __radd__ = __add__

    def enable() -> None:
        plant.replace(OneDeviceStrategyV1, "run", lambda self, fn, args: Symbol())

    plant.replace(v1, "enable_eager_execution", enable)


@fault("ONE-02")
def a_missing_device_is_a_wrong_value(plant: Plant) -> None:
    def looking(original: Any) -> Any:
        def init(self: OneDeviceStrategy, device: str | None = None) -> None:
            if device is None:
                raise ValueError("OneDeviceStrategy() got no device; expected a name.")
            original(self, device)

        return init

    plant.wrap(OneDeviceStrategy, "__init__", looking)


@fault("ONE-05")
def input_for_one_device_stays_on_the_host(plant: Plant) -> None:
    def staying(original: Any) -> Any:
        stay = InputOptions(experimental_fetch_to_device=False)
        return lambda plan, options, **more: original(plan, stay if plan.name == "one_device" else options, **more)

    plant.wrap(strategy, "Placer", staying)


@fault("ONE-08")
def a_write_to_aggregate_waits_for_a_second_replica(plant: Plant) -> None:
    def waiting(original: Any) -> Any:
        def assign_add(self: Variable, delta: Any, *args: Any, **kwargs: Any) -> Any:
            alone = context.get_strategy().extended.plan.name == "one_device" and context.get_replica_context()
            if alone and self.aggregation is VariableAggregation.SUM:
                return self
            return original(self, delta, *args, **kwargs)

        return assign_add

    plant.wrap(Variable, "assign_add", waiting)


@fault("ONE-10")
def elements_that_are_no_batches_become_batches_of_one(plant: Plant) -> None:
    def batching(original: Any) -> Any:
        def cut(self: GlobalBatches, elements: Any) -> Iterator[Any]:
            elements._elements = (nest.map_structure(np.atleast_1d, element) for element in elements._elements)
            return original(self, elements)

        return cut

    plant.wrap(GlobalBatches, "steps", batching)


@fault("ONE-11")
def integers_are_narrowed_on_their_way_to_one_device(plant: Plant) -> None:
    def narrow(leaf: Any) -> Any:
        return leaf.astype(np.int32) if leaf.dtype == np.int64 else leaf

    def narrowing(original: Any) -> Any:
        def place(self: Placer, pieces: Any) -> Any:
            one = self.plan.name == "one_device"
            return original(self, [nest.map_structure(narrow, piece) for piece in pieces] if one else pieces)

        return place

    plant.wrap(Placer, "place", narrowing)


@fault("ONE-12")
def the_dataset_function_is_called_once_more_to_learn_its_spec(plant: Plant) -> None:
    def learning(original: Any) -> Any:
        def distribute(self: OneDeviceStrategy, dataset_fn: Any, options: Any = None) -> Any:
            assert dataset_fn(InputContext()).element_spec is not None
            return original(self, dataset_fn, options)

        return distribute

    plant.wrap(OneDeviceStrategy, "distribute_datasets_from_function", learning)


@fault("ONE-20")
def the_v1_class_drops_a_batch_that_is_not_full(plant: Plant) -> None:
    def dropping(original: Any) -> Any:
        def distribute(self: OneDeviceStrategyV1, dataset: Any, options: Any = None) -> Any:
            size = global_batch_size(dataset.stage)
            full = dataset.filter(lambda *parts: size is None or len(nest.flatten(parts)[0]) == size)
            return original(self, full, options)

        return distribute

    plant.wrap(OneDeviceStrategyV1, "experimental_distribute_dataset", dropping)
