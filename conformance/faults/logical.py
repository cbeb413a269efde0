"""Planted faults of LOGICAL: assigning, replicating and splitting, and the set-up of a TPU system."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from conformance.faults import Plant, fault
from refdist._core.backends import host_backend as host
from refdist._core.base.where import HERE
from refdist._core.devices import logical_layout as layout
from refdist._core.devices.tpu_topology import DeviceAssignment
from refdist._core.strategies import logical_devices as logical
from refdist._core.strategies import tpu_strategy as tpu
from refdist._core.strategies.strategy import Strategy
from refdist._core.strategies.tpu_strategy import ExperimentalTPUStrategy, TPUStrategy
from refdist._core.strategies.verbs import StrategyExtended as Extended
from refdist.tpu import experimental


@fault("LOGICAL-01")
def the_id_may_be_left_out(plant: Plant) -> None:
    plant.wrap(
        Strategy,
        "experimental_assign_to_logical_device",
        lambda original: lambda self, tensor, logical_device_id=0: original(self, tensor, logical_device_id),
    )


@fault("LOGICAL-02")
def an_assigned_tensor_becomes_a_float(plant: Plant) -> None:
    plant.wrap(logical, "assign", lambda original: lambda e, tensor, to: original(e, tensor, to) * np.float32(1))


@fault("LOGICAL-03")
def everything_is_assigned_to_the_first_logical_device(plant: Plant) -> None:
    plant.wrap(
        logical, "assign", lambda original: lambda e, tensor, to: (original(e, tensor, to), original(e, tensor, 0))[1]
    )


@fault("LOGICAL-04")
def negative_ids_count_from_the_end(plant: Plant) -> None:
    def renumbered(original: Callable[..., Any]) -> Any:
        return lambda e, tensor, to: original(e, tensor, to if to >= 0 else to + len(e.plan.logical[0]))

    plant.wrap(logical, "assign", renumbered)


@fault("LOGICAL-05")
def replicas_compute_on_their_last_logical_device(plant: Plant) -> None:
    def turned(original: Callable[..., Any]) -> Any:
        def plan(*args: Any, **options: Any) -> Any:
            made = original(*args, **options)
            last = tuple(cores[-1] for cores in made.logical)
            return dataclasses.replace(made, devices=last, homes=last)

        return plan

    plant.wrap(tpu, "tpu_plan", turned)


@fault("LOGICAL-06")
def other_strategies_have_one_logical_device(plant: Plant) -> None:
    def one(original: Callable[..., Any]) -> Any:
        return lambda e, what: original(e, what) if e.plan.logical else e.plan.devices[:1]

    plant.wrap(logical, "_logical_devices", one)


@fault("LOGICAL-07")
def replicating_takes_a_count_too(plant: Plant) -> None:
    plant.wrap(
        Strategy,
        "experimental_replicate_to_logical_devices",
        lambda original: lambda self, tensor, num_devices=None: original(self, tensor),
    )


@fault("LOGICAL-08")
def a_replicated_tensor_shows_all_its_copies(plant: Plant) -> None:
    def stacked(original: Callable[..., Any]) -> Any:
        return lambda e, tensor: np.stack([original(e, tensor)] * len(e.plan.logical[0]))

    plant.wrap(logical, "replicate", stacked)


@fault("LOGICAL-09")
def replicating_leaves_a_tensor_where_it_is(plant: Plant) -> None:
    plant.wrap(logical, "replicate", lambda _: lambda e, tensor: e.tensor(tensor, None))


@fault("LOGICAL-10")
def the_partition_has_another_name(plant: Plant) -> None:
    plant.wrap(
        Strategy,
        "experimental_split_to_logical_devices",
        lambda original: lambda self, tensor, partition: original(self, tensor, partition),
    )


@fault("LOGICAL-11")
def a_split_tensor_is_its_first_piece(plant: Plant) -> None:
    def first(original: Callable[..., Any]) -> Any:
        def split(e: Extended, tensor: Any, partition: Any) -> Any:
            return layout.cut(np.asarray(original(e, tensor, partition)), partition)[0]

        return split

    plant.wrap(logical, "split", first)


@fault("LOGICAL-12")
def pieces_are_dealt_from_the_end(plant: Plant) -> None:
    plant.wrap(layout, "cut", lambda original: lambda array, partition: original(array, partition)[::-1])


@fault("LOGICAL-13")
def nested_partitions_are_made_flat(plant: Plant) -> None:
    plant.wrap(logical, "_partition", lambda original: lambda given, count: original(np.ravel(given).tolist(), count))


@fault("LOGICAL-14")
def a_partition_is_filled_with_ones(plant: Plant) -> None:
    def filled(original: Callable[..., Any]) -> Any:
        return lambda e, tensor, given: original(e, tensor, (list(given) + [1] * tensor.ndim)[: tensor.ndim])

    plant.wrap(logical, "split", filled)


@fault("LOGICAL-15")
def any_number_of_pieces_is_taken(plant: Plant) -> None:
    plant.wrap(logical, "_partition", lambda original: lambda given, count: original(given, math.prod(given)))


@fault("LOGICAL-16")
def no_size_is_judged(plant: Plant) -> None:
    def lenient(original: Callable[..., Any]) -> Any:
        return lambda shape, partition: original([None] * len(shape), partition)

    plant.wrap(logical, "_require_divisible", lenient)


@fault("LOGICAL-17")
def what_is_being_traced_is_refused(plant: Plant) -> None:
    def refusing(original: Callable[..., Any]) -> Any:
        def split(e: Extended, tensor: Any, partition: Any) -> Any:
            if HERE.get().draft is not None:
                raise ValueError(f"the sizes of {tensor} are not known")
            return original(e, tensor, partition)

        return split

    plant.wrap(logical, "split", refusing)


@fault("LOGICAL-18")
def width_and_height_are_mixed_up(plant: Plant) -> None:
    plant.wrap(host, "lay_out", lambda original: lambda tensor, to, cut: original(tensor, to, cut and cut[::-1]))


@fault("LOGICAL-19")
def ids_count_from_one(plant: Plant) -> None:
    def later(original: Callable[..., Any]) -> Any:
        return lambda e, tensor, to: original(e, tensor, (to + 1) % len(e.plan.logical[0]))

    plant.wrap(logical, "assign", later)


@fault("LOGICAL-20")
def of_a_tuple_the_first_tensor_is_taken_uncut(plant: Plant) -> None:
    def lenient(original: Callable[..., Any]) -> Any:
        return lambda e, tensor, given: tensor[0] if isinstance(tensor, tuple) else original(e, tensor, given)

    plant.wrap(logical, "split", lenient)


@fault("LOGICAL-21")
def initializing_the_system_gives_a_shape(plant: Plant) -> None:
    plant.wrap(
        experimental,
        "initialize_tpu_system",
        lambda original: lambda cluster_resolver=None: original(cluster_resolver).mesh_shape,
    )


@fault("LOGICAL-22")
def every_replica_gets_one_core(plant: Plant) -> None:
    def small(original: Callable[..., Any]) -> Any:
        return lambda cls, topology, computation_shape=None, **options: original(cls, topology, **options)

    plant.wrap(DeviceAssignment, "build", small)


@fault("LOGICAL-23")
def three_entries_are_refused(plant: Plant) -> None:
    def strict(original: Callable[..., Any]) -> Any:
        def build(cls: Any, topology: Any, computation_shape: Any = (1, 1, 1, 1), **options: Any) -> Any:
            return original(cls, topology, computation_shape, **options) if len(computation_shape) == 4 else _refuse()

        return build

    plant.wrap(DeviceAssignment, "build", strict)


@fault("LOGICAL-24")
def the_newer_spelling_ignores_the_assignment(plant: Plant) -> None:
    def ignoring(original: Callable[..., Any]) -> Any:
        return lambda self, tpu_cluster_resolver=None, experimental_device_assignment=None: original(
            self, tpu_cluster_resolver
        )

    plant.wrap(TPUStrategy, "__init__", ignoring)


@fault("LOGICAL-25")
def the_older_spelling_ignores_the_assignment(plant: Plant) -> None:
    def ignoring(original: Callable[..., Any]) -> Any:
        return lambda self, tpu_cluster_resolver=None, device_assignment=None: original(self, tpu_cluster_resolver)

    plant.wrap(ExperimentalTPUStrategy, "__init__", ignoring)


@fault("LOGICAL-26")
def every_replica_means_the_devices_of_the_first(plant: Plant) -> None:
    plant.wrap(logical, "_logical_devices", lambda original: lambda e, what: original(e, what) and e.plan.logical[0])


def _refuse() -> NoReturn:
    raise ValueError("computation_shape must have 4 entries")
