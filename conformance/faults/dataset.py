"""Planted faults: datasets are distributed otherwise, or what is returned can do more or less than it should."""

from collections.abc import Callable, Iterator
from typing import Any

from conformance.faults import Plant, fault
from refdist import distribute
from refdist._core.base.where import HERE
from refdist._core.input import mapping, replica_batches
from refdist._core.input.distributed_dataset import DistributedDataset
from refdist._core.input.readers import Reader
from refdist._core.input.replica_batches import PerReplicaBatches
from refdist._core.input.sharding import replaced
from refdist._core.input.stage import Stage
from refdist._core.input.transforms import Concatenate, Enumerate
from refdist._core.strategies import strategy
from refdist._core.strategies.one_device import OneDeviceStrategy
from refdist._core.strategies.strategy import Strategy, StrategyBase
from refdist._core.strategies.v1_strategies import MirroredStrategyV1


@fault("DATASET-01")
def one_device_takes_a_buffer_size(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        return lambda self, dataset, options=None, buffer_size=1: original(self, dataset, options)

    plant.wrap(OneDeviceStrategy, "experimental_distribute_dataset", wrapper)


@fault("DATASET-02")
def any_options_switch_the_splitting_off(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def distribute(self: StrategyBase, dataset: Any, options: Any = None) -> Any:
            if options is None:
                return original(self, dataset)
            return self.distribute_datasets_from_function(lambda _: dataset)

        return distribute

    plant.wrap(StrategyBase, "experimental_distribute_dataset", wrapper)


@fault("DATASET-03")
def of_chained_datasets_the_first_is_distributed(plant: Plant) -> None:
    def first(stage: Stage) -> Stage:
        return stage.inputs[0] if isinstance(stage, Concatenate) else stage

    def wrapper(original: Callable[..., Any]) -> Any:
        def stage_of(dataset: Any) -> tuple[Stage, Any]:
            stage, options = original(dataset)
            return replaced(stage, first), options

        return stage_of

    plant.wrap(strategy, "stage_of", wrapper)


@fault("DATASET-04")
def v1_returns_the_parts_of_each_step_as_a_tuple(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def distribute(self: StrategyBase, dataset: Any, options: Any = None) -> list[tuple[Any, ...]]:
            return [self.experimental_local_results(element) for element in original(self, dataset, options)]

        return distribute

    plant.wrap(MirroredStrategyV1, "experimental_distribute_dataset", wrapper)


@fault("DATASET-05")
def the_documented_type_is_another_one(plant: Plant) -> None:
    plant.replace(distribute, "DistributedDataset", type("DistributedDataset", (), {}))


@fault("DATASET-06")
def all_loops_share_one_iterator(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def iterate(self: DistributedDataset) -> Iterator[Any]:
            return self.__dict__.setdefault("shared", original(self))

        return iterate

    plant.wrap(DistributedDataset, "__iter__", wrapper)


@fault("DATASET-07")
def transformations_are_taken_and_ignored(plant: Plant) -> None:
    class Patient(DistributedDataset):
        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            return lambda *_: self

    plant.replace(strategy, "DistributedDataset", Patient)


@fault("DATASET-08")
def the_number_of_elements_can_be_asked_for(plant: Plant) -> None:
    class Countable(DistributedDataset):
        def cardinality(self) -> int:
            return sum(1 for _ in self)

    plant.replace(strategy, "DistributedDataset", Countable)


@fault("DATASET-14")
def a_worker_alone_leaves_half_of_the_files_to_others(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def autosharded(stage: Stage, policy: Any, count: int, index: int, *more: Any) -> Stage:
            reads = any(isinstance(one, Reader) for one in stage.walk())
            return original(stage, policy, 2 * count if reads else count, index)

        return autosharded

    plant.wrap(replica_batches, "autosharded", wrapper)


@fault("DATASET-31")
def the_spec_promises_one_example_for_each_replica(plant: Plant) -> None:
    plant.wrap(replica_batches, "batched", lambda original: lambda spec, size: original(spec, 1))


@fault("DATASET-33")
def a_dataset_of_the_user_is_delivered_backwards(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        return lambda self, elements: reversed(list(original(self, elements)))

    plant.wrap(PerReplicaBatches, "steps", wrapper)


@fault("DATASET-34")
def examples_are_numbered_from_one(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        return lambda self, iteration: ((number + 1, element) for number, element in original(self, iteration))

    plant.wrap(Enumerate, "each", wrapper)


@fault("DATASET-35")
def random_numbers_in_a_map_are_refused(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def call(function: Any, element: Any) -> Any:
            if "random" in function.__code__.co_names:
                raise NotImplementedError("The function is stateful.")
            return original(function, element)

        return call

    plant.wrap(mapping, "call", wrapper)


@fault("DATASET-39")
def a_loop_inside_the_scope_goes_on_where_the_last_one_ended(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def iterate(self: DistributedDataset) -> Iterator[Any]:
            if HERE.get().frame is None:
                return original(self)
            return self.__dict__.setdefault("current", original(self))

        return iterate

    plant.wrap(DistributedDataset, "__iter__", wrapper)


@fault("DATASET-40")
def numpy_data_are_shared_out_before_they_are_distributed(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        return lambda self, numpy_input: original(self, numpy_input).shard(self.num_replicas_in_sync, 0)

    plant.wrap(Strategy, "experimental_make_numpy_dataset", wrapper)
