"""Planted faults: batches are divided otherwise among the replicas of a worker."""

from collections.abc import Callable
from typing import Any

import numpy as np

from conformance.faults import Plant, fault
from refdist._core.base import nest
from refdist._core.input import replica_batches
from refdist._core.input.dataset_options import AutoShardPolicy
from refdist._core.input.replica_batches import GlobalBatches, Placer
from refdist._core.input.sharding import Cut
from refdist._core.input.sources import Generated
from refdist._core.input.stage import Stage
from refdist._core.input.transforms import Shard
from refdist._core.replicas.values import PerReplica
from refdist._core.staging.program import Program
from refdist._core.strategies.strategy import StrategyBase
from refdist._core.strategies.v1_strategies import MirroredStrategyV1


@fault("DATASET-09")
def every_replica_gets_the_whole_batch(plant: Plant) -> None:
    plant.replace(replica_batches, "cut_batch", lambda batch, whole, replicas, local: [[(0, batch)] * local])


@fault("DATASET-10")
def v1_hands_out_whole_batches_in_turn(plant: Plant) -> None:
    def distribute(self: StrategyBase, dataset: Any, options: Any = None) -> Any:
        return self.distribute_datasets_from_function(lambda _: dataset)

    plant.replace(MirroredStrategyV1, "experimental_distribute_dataset", distribute)


@fault("DATASET-11")
def batches_are_cut_along_their_last_axis(plant: Plant) -> None:
    def piece(batch: Any, start: int, stop: int) -> Any:
        return nest.map_structure(lambda leaf: leaf[..., start:stop], batch)

    plant.replace(replica_batches, "piece_of", piece)


@fault("DATASET-12")
def no_replica_gets_more_than_four_examples_in_a_step(plant: Plant) -> None:
    def wrapper(original: Callable[..., list[list[Cut]]]) -> Any:
        def cut_batch(batch: int, whole: int, replicas: int, local: int) -> list[list[Cut]]:
            most = min(whole, 4 * replicas)
            return [
                [(first + start, first + stop) for start, stop in cuts]
                for first in range(0, batch, most)
                for cuts in original(min(most, batch - first), most, replicas, local)
            ]

        return cut_batch

    plant.wrap(replica_batches, "cut_batch", wrapper)


@fault("DATASET-13")
def programs_compute_with_32_bits_only(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def result(self: Program, *args: Any) -> Any:
            made = original(self, *args)
            narrow = isinstance(made, PerReplica) and made.values[0].dtype == np.int64
            return PerReplica([value.astype(np.int32) for value in made.values]) if narrow else made

        return result

    plant.wrap(Program, "_result", wrapper)


@fault("DATASET-25")
def switching_sharding_off_switches_splitting_off(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def distribute(self: StrategyBase, dataset: Any, options: Any = None) -> Any:
            if dataset.options().experimental_distribute.auto_shard_policy is AutoShardPolicy.OFF:
                return self.distribute_datasets_from_function(lambda _: dataset)
            return original(self, dataset, options)

        return distribute

    plant.wrap(StrategyBase, "experimental_distribute_dataset", wrapper)


@fault("DATASET-26")
def one_replica_gets_a_per_replica_value(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def place(self: Placer, pieces: Any) -> Any:
            placed = original(self, pieces)
            return PerReplica([placed]) if len(pieces) == 1 else placed

        return place

    plant.wrap(Placer, "place", wrapper)


@fault("DATASET-28")
def the_policy_data_shards_for_one_worker_too(plant: Plant) -> None:
    def wrapper(original: Callable[..., Stage]) -> Any:
        def autosharded(stage: Stage, policy: AutoShardPolicy, count: int, index: int, *more: Any) -> Stage:
            own = original(stage, policy, count, index, *more)
            return Shard(own, 2, index) if policy is AutoShardPolicy.DATA else own

        return autosharded

    plant.wrap(replica_batches, "autosharded", wrapper)


@fault("DATASET-29")
def a_generator_is_drained_before_its_first_element_is_used(plant: Plant) -> None:
    plant.wrap(Generated, "each", lambda original: lambda self, iteration: iter(list(original(self, iteration))))


@fault("DATASET-30")
def one_worker_gets_a_shard_too(plant: Plant) -> None:
    def wrapper(original: Callable[..., list[str]]) -> Any:
        def stages(self: GlobalBatches) -> list[str]:
            rebatch, *others = original(self)
            return [rebatch, "shard(1, 0)", *others]

        return stages

    plant.wrap(GlobalBatches, "stages", wrapper)


@fault("DATASET-36")
def a_partial_batch_is_divided_evenly(plant: Plant) -> None:
    def wrapper(original: Callable[..., list[list[Cut]]]) -> Any:
        return lambda batch, whole, replicas, local: original(batch, batch, replicas, local)

    plant.wrap(replica_batches, "cut_batch", wrapper)


@fault("DATASET-37")
def a_replica_without_data_gets_the_last_example_again(plant: Plant) -> None:
    def wrapper(original: Callable[..., list[list[Cut]]]) -> Any:
        def cut_batch(batch: int, *sizes: int) -> list[list[Cut]]:
            return [[(min(start, batch - 1), stop) for start, stop in cuts] for cuts in original(batch, *sizes)]

        return cut_batch

    plant.wrap(replica_batches, "cut_batch", wrapper)


@fault("DATASET-38")
def single_examples_go_to_the_replicas_in_turn(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def distribute(self: StrategyBase, dataset: Any, options: Any = None) -> Any:
            if dataset.element_spec.shape:
                return original(self, dataset, options)
            return self.distribute_datasets_from_function(lambda _: dataset)

        return distribute

    plant.wrap(StrategyBase, "experimental_distribute_dataset", wrapper)


@fault("DATASET-41")
def the_second_component_is_cut_from_its_end(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def piece(batch: Any, start: int, stop: int) -> Any:
            if not isinstance(batch, tuple):
                return original(batch, start, stop)
            first, second = batch
            return first[start:stop], second[len(second) - stop : len(second) - start]

        return piece

    plant.wrap(replica_batches, "piece_of", wrapper)
