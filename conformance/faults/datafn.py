"""Planted faults in datasets that a function makes: how they are dealt, what the function is told, what comes back."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np

from conformance.faults import Plant, fault
from refdist._core.base import nest
from refdist._core.base.options import InputContext
from refdist._core.input import replica_batches
from refdist._core.input.dataset import Dataset
from refdist._core.input.distributed_dataset import DistributedDataset, DistributedIterator
from refdist._core.input.replica_batches import PerReplicaBatches
from refdist._core.input.sharding import global_batch_size
from refdist._core.input.transforms import Shard
from refdist._core.replicas.specs import PerReplicaSpec, TensorSpec
from refdist._core.strategies.strategy import StrategyBase
from refdist._core.variables.placement import Placement

Hand = list[Any]
"""The batches of one step, by replica."""


@fault("DATAFN-01")
def the_older_spelling_splits_every_batch(plant: Plant) -> None:
    def splitting(self: StrategyBase, dataset_fn: Any, options: Any = None) -> Any:
        made = dataset_fn(InputContext(num_replicas_in_sync=self.num_replicas_in_sync))
        return self.experimental_distribute_dataset(made, options)

    plant.replace(StrategyBase, "experimental_distribute_datasets_from_function", splitting)


@fault("DATAFN-02")
def central_storage_gives_one_batch_to_all_replicas(plant: Plant) -> None:
    def wrapper(original: Callable[..., Iterator[Any]]) -> Any:
        def dealt(self: Any, elements: Iterator[Any]) -> Iterator[Any]:
            plan = self._placer.plan
            if plan.placement is not Placement.CENTRAL:
                return original(self, elements)
            count = len(plan.devices)
            return ((self._placer.place([element] * count), [range(1)] * count) for element in elements)

        return dealt

    plant.wrap(PerReplicaBatches, "steps", wrapper)


@fault("DATAFN-03")
def the_older_spelling_needs_options(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        return lambda self, dataset_fn, options: original(self, dataset_fn, options)

    plant.wrap(StrategyBase, "experimental_distribute_datasets_from_function", wrapper)


@fault("DATAFN-04")
def options_leave_out_every_other_batch(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def distribute(self: StrategyBase, dataset_fn: Any, options: Any = None) -> Any:
            if options is None:
                return original(self, dataset_fn)
            return original(self, lambda context: dataset_fn(context).shard(2, 0), options)

        return distribute

    plant.wrap(StrategyBase, "distribute_datasets_from_function", wrapper)


@fault("DATAFN-05")
def the_function_is_called_for_each_replica(plant: Plant) -> None:
    def wrapper(original: Callable[..., None]) -> Any:
        def init(self: PerReplicaBatches, dataset_fn: Any, placer: Any, worker: Any) -> None:
            original(self, lambda context: [dataset_fn(context) for _ in range(worker.replicas)][-1], placer, worker)

        return init

    plant.wrap(PerReplicaBatches, "__init__", wrapper)


@fault("DATAFN-06")
def the_function_runs_where_its_caller_is(plant: Plant) -> None:
    plant.replace(replica_batches, "entered", lambda device: nullcontext())


@fault("DATAFN-07")
def the_fourth_step_is_the_first_again(plant: Plant) -> None:
    def wrapper(original: Callable[..., Iterator[Any]]) -> Any:
        def dealt(self: PerReplicaBatches, elements: Iterator[Any]) -> Iterator[Any]:
            buffer: Hand = []
            for step, element in enumerate(original(self, elements)):
                if step < 3:
                    buffer.append(element)
                yield buffer[step % 3]

        return dealt

    plant.wrap(PerReplicaBatches, "steps", wrapper)


@fault("DATAFN-08")
def the_context_is_of_another_class(plant: Plant) -> None:
    def lookalike(pipelines: int, index: int, replicas: int) -> Any:
        return SimpleNamespace(
            num_input_pipelines=pipelines,
            input_pipeline_id=index,
            get_per_replica_batch_size=InputContext(pipelines, index, replicas).get_per_replica_batch_size,
        )

    plant.replace(replica_batches, "InputContext", lookalike)


@fault("DATAFN-09")
def what_the_function_made_is_shared_out_over_the_workers(plant: Plant) -> None:
    def wrapper(original: Callable[..., None]) -> Any:
        def init(self: PerReplicaBatches, dataset_fn: Any, placer: Any, worker: Any) -> None:
            def shard(context: InputContext) -> Any:
                return dataset_fn(context).shard(context.num_input_pipelines, context.input_pipeline_id)

            original(self, shard, placer, worker)

        return init

    plant.wrap(PerReplicaBatches, "__init__", wrapper)


@fault("DATAFN-10")
def batches_that_can_be_divided_are_taken_for_global_ones(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def distribute(self: StrategyBase, dataset_fn: Any, options: Any = None) -> Any:
            count = self.num_replicas_in_sync
            made = dataset_fn(InputContext(num_replicas_in_sync=count))
            size = global_batch_size(made.stage) or 0
            if size % count == 0 and size >= 2 * count:
                return self.experimental_distribute_dataset(made, options)
            return original(self, lambda _: made, options)

        return distribute

    plant.wrap(StrategyBase, "distribute_datasets_from_function", wrapper)


@fault("DATAFN-11")
def an_inexact_batch_size_is_rounded_up(plant: Plant) -> None:
    def rounded(self: InputContext, global_batch_size: int) -> int:
        return -(-global_batch_size // self.num_replicas_in_sync)

    plant.replace(InputContext, "get_per_replica_batch_size", rounded)


@fault("DATAFN-12")
def every_worker_takes_its_input_pipeline_for_the_only_one(plant: Plant) -> None:
    plant.replace(replica_batches, "InputContext", lambda _, index, replicas: InputContext(1, 0, replicas))


@fault("DATAFN-13")
def all_workers_are_told_the_id_of_the_first(plant: Plant) -> None:
    plant.wrap(
        replica_batches,
        "InputContext",
        lambda original: lambda pipelines, index, replicas: original(pipelines, 0, replicas),
    )


@fault("DATAFN-14")
def the_spec_of_the_iterator_forgets_the_dtypes(plant: Plant) -> None:
    def forgetful(spec: Any) -> Any:
        if isinstance(spec, PerReplicaSpec):
            return PerReplicaSpec(*map(forgetful, spec.specs))
        return TensorSpec(spec.shape)

    plant.wrap(
        DistributedIterator,
        "element_spec",
        lambda original: lambda self: nest.map_structure(forgetful, original(self)),
    )


@fault("DATAFN-15")
def the_dataset_tells_a_batch_size_that_the_iterator_does_not(plant: Plant) -> None:
    def sized(spec: Any) -> Any:
        if isinstance(spec, PerReplicaSpec):
            return PerReplicaSpec(*map(sized, spec.specs))
        return TensorSpec(tuple(2 if size is None else size for size in spec.shape), spec.dtype)

    plant.wrap(
        DistributedDataset, "element_spec", lambda original: lambda self: nest.map_structure(sized, original(self))
    )


@fault("DATAFN-16")
def a_single_element_loses_a_dimension_of_one(plant: Plant) -> None:
    plant.wrap(Dataset, "from_tensors", lambda original: lambda tensors, name=None: original(np.squeeze(tensors)))


@fault("DATAFN-17")
def the_older_spelling_tells_the_spec_of_one_replica(plant: Plant) -> None:
    class OneSpec(DistributedDataset):
        """Tells what each replica gets."""

        @property
        def element_spec(self) -> Any:
            def one(spec: Any) -> Any:
                return spec.specs[0] if isinstance(spec, PerReplicaSpec) else spec

            return nest.map_structure(one, super().element_spec)

    def wrapper(original: Callable[..., Any]) -> Any:
        def distribute(self: StrategyBase, *args: Any) -> Any:
            made = original(self, *args)
            made.__class__ = OneSpec
            return made

        return distribute

    plant.wrap(StrategyBase, "experimental_distribute_datasets_from_function", wrapper)


@fault("DATAFN-18")
def the_older_spelling_returns_what_can_be_iterated_over_once(plant: Plant) -> None:
    plant.wrap(
        StrategyBase,
        "experimental_distribute_datasets_from_function",
        lambda original: lambda self, dataset_fn, options=None: iter(original(self, dataset_fn, options)),
    )


@fault("DATAFN-19")
def the_newer_spelling_returns_an_object_of_its_own(plant: Plant) -> None:
    class FromFunction:
        """Can be iterated over, and has a spec, but is no DistributedDataset."""

        def __init__(self, dataset: Any) -> None:
            self._dataset = dataset
            self.element_spec = dataset.element_spec

        def __iter__(self) -> Any:
            return iter(self._dataset)

    def wrapper(original: Callable[..., Any]) -> Any:
        return lambda self, dataset_fn, options=None: FromFunction(original(self, dataset_fn, options))

    plant.wrap(StrategyBase, "distribute_datasets_from_function", wrapper)


@fault("DATAFN-20")
def work_is_done_before_the_shard(plant: Plant) -> None:
    def wrapper(original: Callable[..., Dataset]) -> Any:
        def mapped(self: Dataset, *args: Any, **kwargs: Any) -> Dataset:
            if not isinstance(self.stage, Shard):
                return original(self, *args, **kwargs)
            return Dataset(self.stage.over(original(Dataset(self.stage.inputs[0]), *args, **kwargs).stage))

        return mapped

    plant.wrap(Dataset, "map", wrapper)


@fault("DATAFN-21")
def a_shuffle_has_one_seed_for_all_workers(plant: Plant) -> None:
    def wrapper(original: Callable[..., Dataset]) -> Any:
        def shuffle(self: Dataset, buffer_size: int, seed: Any = None, *args: Any, **kwargs: Any) -> Dataset:
            return original(self, buffer_size, seed and 1, *args, **kwargs)

        return shuffle

    plant.wrap(Dataset, "shuffle", wrapper)


@fault("DATAFN-22")
def single_examples_become_batches_of_one(plant: Plant) -> None:
    _change_hands(plant, lambda hand: [np.expand_dims(part, 0) if _size(part) == 0 else part for part in hand])


@fault("DATAFN-23")
def the_batches_of_a_step_are_cut_to_the_smallest(plant: Plant) -> None:
    _change_hands(plant, lambda hand: [part[: min(map(_size, hand))] if _size(part) else part for part in hand])


def _change_hands(plant: Plant, change: Callable[[Hand], Hand]) -> None:
    """Let a function change what the replicas get in one step, where the elements are single arrays."""

    def dealt(self: Any, elements: Iterator[Any]) -> Iterator[Any]:
        while hand := list(itertools.islice(elements, len(self._placer.plan.devices))):
            yield (
                self._placer.place(hand if isinstance(hand[0], nest.CONTAINERS) else change(hand)),
                [range(0)] * len(hand),
            )

    plant.replace(PerReplicaBatches, "steps", dealt)


def _size(part: Any) -> int:
    """Return the number of examples, or 0 where there is no batch."""
    return len(part) if np.ndim(part) else 0
