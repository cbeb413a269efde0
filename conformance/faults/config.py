"""Planted faults in `update_config_proto`."""

from collections.abc import Callable
from typing import Any

from conformance.faults import Plant, fault
from refdist._core.strategies.v1_strategies import StrategyV1


@fault("CONFIG-01")
def the_argument_has_another_name(plant: Plant) -> None:
    plant.wrap(StrategyV1, "update_config_proto", lambda original: lambda self, config: original(self, config))


@fault("CONFIG-02")
def a_new_configuration_takes_the_place_of_a_copy(plant: Plant) -> None:
    plant.replace(StrategyV1, "update_config_proto", lambda self, config_proto: type(config_proto)())


@fault("CONFIG-03")
def the_argument_gets_the_device_filters_too(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def update(self: StrategyV1, config_proto: Any) -> Any:
            config_proto.device_filters.append("/job:localhost")
            return original(self, config_proto)

        return update

    plant.wrap(StrategyV1, "update_config_proto", wrapper)


@fault("CONFIG-04")
def the_leader_is_named_by_its_address(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def update(self: StrategyV1, config_proto: Any) -> Any:
            updated = original(self, config_proto)
            if updated.experimental.collective_group_leader:
                updated.experimental.collective_group_leader = self.cluster_resolver.master(task_id=0)
            return updated

        return update

    plant.wrap(StrategyV1, "update_config_proto", wrapper)


@fault("CONFIG-05")
def the_text_does_not_speak_of_deprecation(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def update_config_proto(self: StrategyV1, config_proto: Any) -> Any:
            """Copy a configuration, with what this strategy needs."""
            return original(self, config_proto)

        return update_config_proto

    plant.wrap(StrategyV1, "update_config_proto", wrapper)
