"""Planted faults: data are shared out otherwise over several workers."""

import dataclasses
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from conformance.faults import Plant, fault
from refdist._core.input import replica_batches, sharding
from refdist._core.input.batching import Batch
from refdist._core.input.dataset_options import AutoShardPolicy, DistributeOptions
from refdist._core.input.mapping import Map
from refdist._core.input.readers import Reader
from refdist._core.input.replica_batches import GlobalBatches
from refdist._core.input.sharding import replaced
from refdist._core.input.stage import Skip, Stage
from refdist._core.input.transforms import Concatenate, Shard, Take
from refdist._core.strategies.strategy import StrategyBase

Share = Callable[[Stage], Stage]
"""Keeps a worker's part of the elements of a stage."""


@fault("DATASET-15")
def every_worker_looks_into_all_files_first(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def sharded(self: Reader, count: int, index: int) -> Any:
            own = original(self, count, index)

            def each(iteration: Any) -> Iterator[Any]:
                list(self.each(iteration))
                yield from Reader.each(own, iteration)

            own.each = each
            return own

        return sharded

    plant.wrap(Reader, "sharded", wrapper)


@fault("DATASET-16")
def a_worker_without_a_file_has_nothing_to_do(plant: Plant) -> None:
    plant.replace(sharding, "_require_files", lambda files, sources, count: None)


@fault("DATASET-17")
def the_records_of_a_single_file_are_always_shared_out(plant: Plant) -> None:
    def change(stage: Stage, policy: AutoShardPolicy, share: Share) -> Stage | None:
        files = [name for reader in _readers(stage) for name in reader.files]
        return _shared_where(stage, Reader, share) if len(files) == 1 else None

    _change_parts(plant, change)


@fault("DATASET-18")
def the_shard_comes_before_the_batches(plant: Plant) -> None:
    def change(stage: Stage, policy: AutoShardPolicy, share: Share) -> Stage | None:
        if not _falls_back(stage, policy):
            return None
        return replaced(stage, lambda one: one.over(share(one.inputs[0])) if isinstance(one, Batch) else one)

    _change_parts(plant, change)


@fault("DATASET-19")
def the_shard_comes_before_the_preprocessing(plant: Plant) -> None:
    def change(stage: Stage, policy: AutoShardPolicy, share: Share) -> Stage | None:
        if not _falls_back(stage, policy) or not any(isinstance(one, Map) for one in stage.walk()):
            return None
        return replaced(stage, lambda one: one.over(share(one.inputs[0])) if isinstance(one, Map) else one)

    _change_parts(plant, change)


@fault("DATASET-20")
def falling_back_is_not_worth_a_word(plant: Plant) -> None:
    plant.replace(sharding, "warnings", SimpleNamespace(warn=lambda *args, **kwargs: None))


@fault("DATASET-21")
def auto_shares_out_records_and_not_files(plant: Plant) -> None:
    def change(stage: Stage, policy: AutoShardPolicy, share: Share) -> Stage | None:
        return _shared_where(stage, Reader, share) if policy is AutoShardPolicy.AUTO and _readers(stage) else None

    _change_parts(plant, change)


@fault("DATASET-22")
def sharding_is_off_unless_it_is_asked_for(plant: Plant) -> None:
    def init(self: DistributeOptions, auto_shard_policy: Any = AutoShardPolicy.OFF, num_devices: Any = None) -> None:
        self.auto_shard_policy, self.num_devices = auto_shard_policy, num_devices

    plant.replace(DistributeOptions, "__init__", init)


@fault("DATASET-23")
def the_policy_file_means_by_element(plant: Plant) -> None:
    _change_parts(plant, lambda stage, policy, share: share(stage) if policy is AutoShardPolicy.FILE else None)


@fault("DATASET-24")
def switching_sharding_off_only_silences_the_warning(plant: Plant) -> None:
    def change(stage: Stage, policy: AutoShardPolicy, share: Share) -> Stage | None:
        return share(stage) if policy is AutoShardPolicy.OFF and not _readers(stage) else None

    _change_parts(plant, change)


@fault("DATASET-27")
def the_first_of_several_batches_goes_to_every_worker(plant: Plant) -> None:
    def change(stage: Stage, policy: AutoShardPolicy, share: Share) -> Stage | None:
        rest = Skip(share(stage), 1)
        if not _falls_back(stage, policy) or rest.cardinality() <= 0:
            return None
        return Concatenate(Take(stage, 1), rest)

    _change_parts(plant, change)


@fault("DATASET-32")
def the_older_spelling_shards_what_the_function_has_sharded(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def distribute(self: StrategyBase, dataset_fn: Any, options: Any = None) -> Any:
            def again(context: Any) -> Any:
                return dataset_fn(context).shard(context.num_input_pipelines, context.input_pipeline_id)

            return original(self, again, options)

        return distribute

    plant.wrap(StrategyBase, "experimental_distribute_datasets_from_function", wrapper)


@fault("DATASET-42")
def every_worker_gets_a_global_batch_in_each_step(plant: Plant) -> None:
    def wrapper(original: Callable[..., None]) -> Any:
        def init(self: GlobalBatches, stage: Any, policy: Any, placer: Any, worker: Any, **more: Any) -> None:
            alone = dataclasses.replace(worker, replicas=len(placer.plan.devices))
            original(self, stage, policy, placer, alone, **more)

        return init

    plant.wrap(GlobalBatches, "__init__", wrapper)


def _change_parts(plant: Plant, change: Callable[[Stage, AutoShardPolicy, Share], Stage | None]) -> None:
    """Let a function say what one of several workers gets of a pipeline, where it does not return None."""

    def wrapper(original: Callable[..., Stage]) -> Any:
        def autosharded(stage: Stage, policy: AutoShardPolicy, count: int, index: int, *more: Any) -> Stage:
            own = original(stage, policy, count, index, *more)
            changed = change(stage, policy, lambda one: Shard(one, count, index)) if count > 1 else None
            return changed or own

        return autosharded

    plant.wrap(replica_batches, "autosharded", wrapper)


def _shared_where(stage: Stage, kind: type[Stage], share: Share) -> Stage:
    """Share out the elements of all stages of a kind."""
    return replaced(stage, lambda one: share(one) if isinstance(one, kind) else one)


def _falls_back(stage: Stage, policy: AutoShardPolicy) -> bool:
    """Tell whether there are no files, and nothing else was asked for."""
    return policy is AutoShardPolicy.AUTO and not _readers(stage)


def _readers(stage: Stage) -> list[Reader]:
    return [one for one in stage.walk() if isinstance(one, Reader)]
