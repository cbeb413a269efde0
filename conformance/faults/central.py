"""Faults of CentralStorageStrategy."""

from itertools import count
from typing import Any

from conformance.faults import Plant, fault
from refdist._core.base.where import entered
from refdist._core.devices.device import Device
from refdist._core.input.dataset_options import AutoShardPolicy, Options
from refdist._core.input.replica_batches import InputWorker, Placer
from refdist._core.input.transforms import Shard
from refdist._core.replicas.context import get_strategy
from refdist._core.replicas.values import select
from refdist._core.staging.function import Function
from refdist._core.strategies import central_storage, strategy
from refdist._core.strategies.central_storage import CentralStorageStrategy
from refdist._core.strategies.strategy import StrategyBase
from refdist._core.strategies.v1_strategies import CentralStorageStrategyV1
from refdist._core.strategies.verbs import StrategyExtended
from refdist._core.variables import creation
from refdist._core.variables.placement import Placement


@fault("CENTRAL-01")
def the_constructor_takes_keywords_only(plant: Plant) -> None:
    def by_keyword(original: Any) -> Any:
        return lambda self, *, compute_devices=None, parameter_device=None: original(
            self, compute_devices, parameter_device
        )

    plant.wrap(CentralStorageStrategy, "__init__", by_keyword)


@fault("CENTRAL-02")
def variables_go_to_the_compute_devices_in_turn(plant: Plant) -> None:
    turn = count()

    def in_turn(device: Device) -> Any:
        plan = get_strategy().extended.plan
        central = plan.placement is Placement.CENTRAL
        return entered(device=plan.devices[next(turn) % len(plan.devices)] if central else device)

    plant.replace(creation, "entered", in_turn)


@fault("CENTRAL-03")
def variables_are_on_the_last_gpu(plant: Plant) -> None:
    plant.replace(central_storage, "host_device", lambda backend: backend.devices()[-1])


@fault("CENTRAL-04")
def variables_are_on_the_cpu_even_with_one_gpu(plant: Plant) -> None:
    plant.wrap(central_storage, "central_storage_plan", lambda original: lambda c, p: original(c, p or "CPU:0"))


@fault("CENTRAL-05")
def only_one_gpu_computes_by_default(plant: Plant) -> None:
    def one(original: Any) -> Any:
        return lambda names, backend: original(names, backend) if names else original(names, backend)[:1]

    plant.wrap(central_storage, "chosen_devices", one)


@fault("CENTRAL-06")
def updates_are_replicated_too(plant: Plant) -> None:
    def replicated(original: Any) -> Any:
        def update(self: StrategyExtended, *args: Any, **kwargs: Any) -> Any:
            times = self.num_replicas if self.plan.placement is Placement.CENTRAL else 1
            return [original(self, *args, **kwargs) for _ in range(times)][-1]

        return update

    plant.wrap(StrategyExtended, "update", replicated)


@fault("CENTRAL-09")
def the_parameter_device_is_ignored(plant: Plant) -> None:
    plant.wrap(central_storage, "central_storage_plan", lambda original: lambda c, p: original(c, None))


@fault("CENTRAL-10")
def every_gpu_computes_whichever_are_named(plant: Plant) -> None:
    plant.wrap(central_storage, "central_storage_plan", lambda original: lambda c, p: original(None, p))


@fault("CENTRAL-07")
def the_step_of_central_storage_is_computed_from_the_first_piece(plant: Plant) -> None:
    def first(original: Any) -> Any:
        def run_in_replicas(self: Function, strategy: StrategyBase, fn: Any, args: Any, kwargs: Any) -> Any:
            central = strategy.extended.plan.placement is Placement.CENTRAL
            return original(self, strategy, fn, select(args, 0) if central else args, kwargs)

        return run_in_replicas

    plant.wrap(Function, "run_in_replicas", first)


@fault("CENTRAL-11")
def the_v1_spelling_leaves_a_smaller_last_batch_out(plant: Plant) -> None:
    def whole(original: Any) -> Any:
        return lambda self, dataset, options=None: original(self, dataset.unbatch().batch(2, True), options)

    plant.wrap(CentralStorageStrategyV1, "experimental_distribute_dataset", whole)


@fault("CENTRAL-08")
def every_compute_device_counts_as_a_worker_with_a_shard(plant: Plant) -> None:
    def sharing(original: Any) -> Any:
        def splitting(stage: Any, options: Options, placer: Placer, worker: InputWorker, **more: Any) -> Any:
            by_data = options.experimental_distribute.auto_shard_policy is AutoShardPolicy.DATA
            central = placer.plan.placement is Placement.CENTRAL
            own = Shard(stage, len(placer.plan.devices), 0) if by_data and central else stage
            return original(own, options, placer, worker, **more)

        return splitting

    plant.wrap(strategy, "GlobalBatches", sharing)
