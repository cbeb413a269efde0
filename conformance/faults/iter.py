"""Planted faults in the iterators of v1."""

import dataclasses
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from conformance.faults import Plant, fault
from refdist._core.base import nest
from refdist._core.base.enums import InputReplicationMode
from refdist._core.base.options import InputContext
from refdist._core.input.dataset import Dataset
from refdist._core.input.input_iterator import InputIterator
from refdist._core.input.replica_batches import Placer
from refdist._core.input.sharding import global_batch_size
from refdist._core.replicas.values import DistributedValues
from refdist._core.strategies import v1_strategies as surface_v1
from refdist._core.strategies.v1_strategies import StrategyV1
from refdist._core.strategies.verbs import StrategyExtended

InputFunction = Callable[[Any], Any]
"""Takes an input context, and returns a dataset."""


@fault("ITER-01")
def make_dataset_iterator_takes_options_too(plant: Plant) -> None:
    plant.wrap(
        StrategyV1,
        "make_dataset_iterator",
        lambda original: lambda self, dataset, options=None: original(self, dataset),
    )


@fault("ITER-02")
def the_text_of_make_dataset_iterator_is_lost(plant: Plant) -> None:
    plant.wrap(StrategyV1, "make_dataset_iterator", lambda original: lambda self, dataset: original(self, dataset))


@fault("ITER-03")
def all_replicas_get_the_first_piece(plant: Plant) -> None:
    _change_pieces(plant, lambda pieces: [pieces[0]] * len(pieces))


@fault("ITER-04")
def the_pieces_of_a_batch_come_in_reverse(plant: Plant) -> None:
    _change_pieces(plant, lambda pieces: pieces[::-1])


@fault("ITER-05")
def pieces_may_be_of_different_sizes(plant: Plant) -> None:
    plant.wrap(surface_v1, "GlobalBatches", lambda original: lambda *args, even: original(*args))


@fault("ITER-06")
def large_batches_of_an_input_function_are_divided(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def make(self: StrategyV1, input_fn: InputFunction, *mode: Any) -> Any:
            made = input_fn(InputContext(num_replicas_in_sync=self.num_replicas_in_sync))
            if (global_batch_size(made.stage) or 0) > self.num_replicas_in_sync:
                return InputIterator(self.experimental_distribute_dataset(made))
            return original(self, lambda _: made, *mode)

        return make

    plant.wrap(StrategyV1, "make_input_fn_iterator", wrapper)


@fault("ITER-07")
def the_iterator_is_of_another_class(plant: Plant) -> None:
    class Lookalike:
        """Does what an InputIterator does."""

        def __init__(self, steps: Any) -> None:
            inner = InputIterator(steps)
            self.initialize, self.get_next = inner.initialize, inner.get_next

    plant.replace(surface_v1, "InputIterator", Lookalike)


@fault("ITER-08")
def an_iterator_over_a_dataset_cannot_start_again(plant: Plant) -> None:
    _make_final(plant, "make_dataset_iterator")


@fault("ITER-09")
def the_replication_mode_is_none_by_default(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def make(self: StrategyV1, input_fn: InputFunction, replication_mode: Any = None) -> Any:
            return original(self, input_fn, replication_mode or InputReplicationMode.PER_WORKER)

        return make

    plant.wrap(StrategyV1, "make_input_fn_iterator", wrapper)


@fault("ITER-10")
def the_input_function_gets_an_object_of_another_class(plant: Plant) -> None:
    def lookalike(context: InputContext) -> Any:
        return SimpleNamespace(
            num_input_pipelines=context.num_input_pipelines,
            input_pipeline_id=context.input_pipeline_id,
            get_per_replica_batch_size=context.get_per_replica_batch_size,
        )

    _change_function(plant, lambda input_fn, _: lambda context: input_fn(lookalike(context)))


@fault("ITER-11")
def the_input_function_is_told_of_one_replica(plant: Plant) -> None:
    def told(context: InputContext) -> InputContext:
        return dataclasses.replace(context, num_replicas_in_sync=1)

    _change_function(plant, lambda input_fn, _: lambda context: input_fn(told(context)))


@fault("ITER-12")
def the_replication_mode_is_not_looked_at(plant: Plant) -> None:
    _change_function(plant, lambda input_fn, _: input_fn)


@fault("ITER-13")
def the_input_function_is_called_for_each_replica(plant: Plant) -> None:
    _change_function(plant, lambda input_fn, count: lambda context: [input_fn(context) for _ in range(count)][-1])


@fault("ITER-14")
def every_replica_reads_the_data_on_its_own(plant: Plant) -> None:
    def copied(made: Dataset, count: int) -> Dataset:
        return made.flat_map(lambda element: Dataset.from_tensors(element).repeat(count))

    _change_function(plant, lambda input_fn, count: lambda context: copied(input_fn(context), count))


@fault("ITER-15")
def an_iterator_over_an_input_function_cannot_start_again(plant: Plant) -> None:
    _make_final(plant, "make_input_fn_iterator")


@fault("ITER-16")
def every_run_starts_the_iterator_again(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def run(self: StrategyV1, fn: Any, input_iterator: Any = None) -> Any:
            if isinstance(input_iterator, InputIterator):
                input_iterator.initialize()
            return original(self, fn, input_iterator)

        return run

    plant.wrap(StrategyV1, "experimental_run", wrapper)


@fault("ITER-17")
def call_for_each_replica_gives_all_the_first_component(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def call(self: StrategyExtended, fn: Any, args: Any = (), kwargs: Any = None) -> Any:
            return original(self, fn, nest.map_structure(_first, args), kwargs)

        return call

    plant.wrap(StrategyExtended, "call_for_each_replica", wrapper)


@fault("ITER-18")
def an_iterator_has_nothing_before_it_is_initialized(plant: Plant) -> None:
    ready: list[InputIterator] = []

    def noting(original: Callable[..., None]) -> Any:
        def initialize(self: InputIterator) -> None:
            ready.append(self)
            original(self)

        return initialize

    def waiting(original: Callable[..., Any]) -> Any:
        return lambda self: original(self) if any(one is self for one in ready) else None

    plant.wrap(InputIterator, "initialize", noting)
    plant.wrap(InputIterator, "get_next", waiting)


def _change_pieces(plant: Plant, change: Callable[[Sequence[Any]], Sequence[Any]]) -> None:
    """Let a function change which replica gets which piece of a batch."""

    class Changed(Placer):
        """Places other pieces than those that were cut."""

        def place(self, pieces: Sequence[Any]) -> Any:
            return super().place(change(pieces))

    plant.replace(surface_v1, "Placer", Changed)


def _change_function(plant: Plant, change: Callable[[InputFunction, int], InputFunction]) -> None:
    """Put another input function in the place of the user's; the replication mode gets lost on the way."""

    def wrapper(original: Callable[..., Any]) -> Any:
        def make(
            self: StrategyV1,
            input_fn: InputFunction,
            replication_mode: InputReplicationMode = InputReplicationMode.PER_WORKER,
        ) -> Any:
            return original(self, change(input_fn, self.num_replicas_in_sync))

        return make

    plant.wrap(StrategyV1, "make_input_fn_iterator", wrapper)


def _make_final(plant: Plant, method: str) -> None:
    """Let the iterators of one method do nothing when they are to be initialized."""

    class Final(InputIterator):
        """Is ready when it is made, and goes on from there."""

        def initialize(self) -> None:
            """Do nothing."""

    def wrapper(original: Callable[..., Any]) -> Any:
        def make(self: StrategyV1, *args: Any, **kwargs: Any) -> Any:
            made = original(self, *args, **kwargs)
            made.__class__ = Final
            return made

        return make

    plant.wrap(StrategyV1, method, wrapper)


def _first(value: Any) -> Any:
    return value.component(0) if isinstance(value, DistributedValues) else value
