"""Planted faults in `tf.function`: in what is traced, in what serves again, and in what a signature does."""

import sys
from collections.abc import Callable
from typing import Any

import refdist
from conformance.faults import Plant, fault
from refdist._core.base import nest
from refdist._core.base.where import HERE
from refdist._core.input.distributed_dataset import DistributedDataset, DistributedIterator
from refdist._core.replicas.values import DistributedValues, select
from refdist._core.staging.argument_kinds import ArgumentKinds
from refdist._core.staging.cache_keys import ByIdentity
from refdist._core.staging.function import Function
from refdist._core.staging.program_source import ProgramSource
from refdist._core.staging.staged_strategy import StagedExtended
from refdist._core.strategies.strategy import Strategy


@fault("FUNC-01")
def every_replica_that_is_traced_takes_itself_for_the_first(plant: Plant) -> None:
    def body(self: Any, strategy: Any, fn: Any, given: Any, number: int) -> Any:
        return self._body(strategy, fn, select(given, number), 0)

    plant.replace(StagedExtended, "body", body)


@fault("FUNC-02")
def each_new_per_replica_value_is_traced_anew(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def distributed(self: ArgumentKinds, place: int, leaf: Any) -> Any:
            kind, *rest = original(self, place, leaf)
            return ((kind, ByIdentity(leaf)), *rest)

        return distributed

    plant.wrap(ArgumentKinds, "_distributed", wrapper)
    plant.wrap(
        ProgramSource, "program", lambda original: lambda self, call, around, _: original(self, call, around, object())
    )
    # The name `refdist.function` is the decorator, not the module.
    plant.wrap(sys.modules[Function.__module__], "quick_key", lambda original: lambda args: None)


@fault("FUNC-03")
def replicas_always_count_as_eager(plant: Plant) -> None:
    def wrapper(original: Callable[[], bool]) -> Any:
        def executing_eagerly() -> bool:
            frame = HERE.get().frame
            return original() or (frame is not None and frame.replica is not None)

        return executing_eagerly

    plant.wrap(refdist, "executing_eagerly", wrapper)


@fault("FUNC-04")
def a_function_with_a_signature_is_traced_anew_at_each_run(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def run_in_replicas(self: Any, *args: Any) -> Any:
            if self.input_signature is not None:
                self._programs.clear()
                self._source._opened.clear()
            return original(self, *args)

        return run_in_replicas

    plant.wrap(Function, "run_in_replicas", wrapper)


@fault("FUNC-05")
def to_tell_its_spec_an_iterator_takes_an_element(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def element_spec(self: DistributedIterator) -> Any:
            next(self)
            return original(self)

        return element_spec

    plant.wrap(DistributedIterator, "element_spec", wrapper)


@fault("FUNC-06")
def in_a_function_a_dataset_goes_on_where_it_stopped(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        known: dict[int, Any] = {}

        def iterate(self: DistributedDataset) -> Any:
            if HERE.get().function is None:
                return original(self)
            # The dataset is kept too, because the ids of lost objects are given to others.
            return known.setdefault(id(self), (original(self), self))[0]

        return iterate

    plant.wrap(DistributedDataset, "__iter__", wrapper)


@fault("FUNC-07")
def in_a_function_all_replicas_get_the_first_value(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def distribute(self: Strategy, value_fn: Callable[..., Any]) -> Any:
            made = original(self, value_fn)
            return nest.map_structure(_first_everywhere, made) if HERE.get().draft is not None else made

        return distribute

    plant.wrap(Strategy, "experimental_distribute_values_from_function", wrapper)


def _first_everywhere(value: DistributedValues) -> DistributedValues:
    return type(value)([value.values[0]] * len(value.values))
