"""Planted faults of ATTR: attributes, inheritance, constructors and inventories of the strategies."""

from functools import partial
from typing import Any, NoReturn

from conformance.faults import Plant, fault
from refdist import distribute
from refdist._core.strategies.extended import EagerExtended
from refdist._core.strategies.mirrored import MirroredStrategy
from refdist._core.strategies.one_device import OneDeviceStrategy
from refdist._core.strategies.strategy import Strategy, StrategyBase
from refdist._core.strategies.v1_strategies import (
    CentralStorageStrategyV1,
    MirroredStrategyV1,
    OneDeviceStrategyV1,
    ParameterServerStrategyV1,
    StrategyV1,
)
from refdist._core.strategies.verbs import StrategyExtended
from refdist.compat.v1 import distribute as distribute_v1
from refdist.distribute import experimental


@fault("ATTR-01")
def extended_may_be_left_out(plant: Plant) -> None:
    plant.wrap(Strategy, "__init__", lambda original: lambda self, extended=None: original(self, extended))


@fault("ATTR-02")
def the_documented_name_is_not_the_class_of_extended(plant: Plant) -> None:
    class StrategyExtended:
        """A class of its own."""

    plant.replace(distribute, "StrategyExtended", StrategyExtended)


@fault("ATTR-03")
def num_replicas_counts_the_devices_of_variables(plant: Plant) -> None:
    plant.wrap(StrategyBase, "num_replicas_in_sync", lambda _: lambda self: len(self.extended.plan.homes))


@fault("ATTR-04")
def the_v1_mirrored_strategy_is_the_v2_one(plant: Plant) -> None:
    plant.replace(distribute_v1, "MirroredStrategy", MirroredStrategy)


@fault("ATTR-05")
def the_v2_one_device_strategy_is_the_v1_one(plant: Plant) -> None:
    plant.replace(distribute, "OneDeviceStrategy", OneDeviceStrategyV1)


@fault("ATTR-06")
def worker_devices_are_those_of_variables(plant: Plant) -> None:
    plant.wrap(EagerExtended, "worker_devices", lambda _: lambda self: self.plan.homes)


@fault("ATTR-07")
def the_v2_mirrored_strategy_cannot_split(plant: Plant) -> None:
    _forget(plant, MirroredStrategy, "experimental_split_to_logical_devices")


@fault("ATTR-08")
def the_v2_one_device_strategy_cannot_replicate(plant: Plant) -> None:
    _forget(plant, OneDeviceStrategy, "experimental_replicate_to_logical_devices")


@fault("ATTR-11")
def a_v1_strategy_has_a_logical_device_method(plant: Plant) -> None:
    class WithLogicalDevices(MirroredStrategyV1):
        """A v1 strategy with a method of v2."""

        def experimental_assign_to_logical_device(self, tensor: Any, logical_device_id: int) -> Any:
            """Leave the tensor where it is."""
            return tensor

    plant.replace(distribute_v1, "MirroredStrategy", WithLogicalDevices)


@fault("ATTR-13")
def the_v1_surface_has_no_cluster_resolver(plant: Plant) -> None:
    def refuse(self: StrategyV1) -> NoReturn:
        raise AttributeError("cluster_resolver")

    plant.replace(StrategyV1, "cluster_resolver", property(refuse))


@fault("ATTR-14")
def a_local_strategy_has_a_cluster_resolver(plant: Plant) -> None:
    plant.wrap(StrategyBase, "cluster_resolver", lambda _: lambda self: self.extended)


@fault("ATTR-15")
def a_strategy_is_a_function(plant: Plant) -> None:
    plant.wrap(experimental, "CentralStorageStrategy", partial)


@fault("ATTR-16")
def the_parameter_server_strategy_is_a_v1_strategy_only(plant: Plant) -> None:
    plant.replace(experimental, "ParameterServerStrategy", ParameterServerStrategyV1)


@fault("ATTR-17")
def the_glossary_is_left_out(plant: Plant) -> None:
    plant.replace(StrategyExtended, "__doc__", "Further methods of a strategy.")


@fault("ATTR-09")
def the_v1_mirrored_strategy_has_lost_the_older_spelling(plant: Plant) -> None:
    _forget(plant, MirroredStrategyV1, "experimental_distribute_datasets_from_function")


@fault("ATTR-10")
def the_v1_central_storage_strategy_has_no_newer_spelling(plant: Plant) -> None:
    _forget(plant, CentralStorageStrategyV1, "distribute_datasets_from_function")


@fault("ATTR-12")
def a_v2_strategy_still_has_experimental_run(plant: Plant) -> None:
    class WithExperimentalRun(MirroredStrategy):
        """A v2 strategy with a method of v1."""

        def experimental_run(self, fn: Any, input_iterator: Any = None) -> Any:
            """Run a function on each replica, with the next input of an iterator where one is given."""
            return self.run(fn, () if input_iterator is None else (input_iterator.get_next(),))

    plant.replace(distribute, "MirroredStrategy", WithExperimentalRun)


def _forget(plant: Plant, owner: type, name: str) -> None:
    """Let a class behave as if it had no such attribute."""

    def refuse(self: object) -> NoReturn:
        raise AttributeError(name)

    plant.replace(owner, name, property(refuse))
