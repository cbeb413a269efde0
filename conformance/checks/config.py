"""Checks of CONFIG: `update_config_proto`, which prepares a configuration of v1 for a strategy."""

import copy
import inspect
from typing import Any

from conformance.checks import check
from conformance.world import World


@check("CONFIG-01", needs=("config_proto",))
def update_config_proto_takes_a_configuration(world: World) -> None:
    for strategy in world.each():
        world.signature(strategy.update_config_proto, ["config_proto"])

        kind = world.tf.compat.v1.ConfigProto
        world.true(isinstance(strategy.update_config_proto(config_proto=kind()), kind), "a ConfigProto is returned")


@check("CONFIG-02", needs=("config_proto",))
def the_result_is_a_changed_copy(world: World) -> None:
    for strategy in world.each():
        config = _config(world)
        result = strategy.update_config_proto(config)

        world.true(type(result) is world.tf.compat.v1.ConfigProto, "the result is a ConfigProto")
        world.true(result is not config, "the result is another object than the argument")
        world.equal(_unrelated(config), _unrelated(result), "settings that have nothing to do with distribution")
        world.equal([True, True, 3, 5], _unrelated(result))
        result.inter_op_parallelism_threads = 7
        world.equal(3, config.inter_op_parallelism_threads, "the argument after a change of the result")


@check("CONFIG-03", needs=("config_proto",))
def the_argument_stays_as_it_was(world: World) -> None:
    for strategy in world.each():
        for config in (_config(world), world.tf.compat.v1.ConfigProto()):
            before = copy.deepcopy(config)
            strategy.update_config_proto(config)

            world.true(before == config, f"the argument is still {before}")


@check("CONFIG-04", replicas=(1, 2), needs=("config_proto", "multi_worker"))
def workers_get_settings_for_collectives_or_device_filters(world: World) -> None:
    def settings(config: Any) -> list[Any]:
        return [config.experimental.collective_group_leader, list(config.device_filters)]

    def program(strategy: Any, index: int) -> Any:
        own = world.tf.compat.v1.distribute.experimental.MultiWorkerMirroredStrategy()
        config = _config(world)
        updated = own.update_config_proto(config)
        return settings(updated), _unrelated(updated), settings(config)

    for index, (updated, unrelated, before) in enumerate(world.workers(2, program, replicas=world.replicas)):
        leader, filters = updated
        world.equal(["", []], before, "the settings of the argument")
        world.true(leader or filters, f"worker {index} has a group leader or device filters")
        for text in (*filters, *([leader] if leader else [])):
            world.true("/job:" in text, f"{text} names tasks of the cluster")
        world.equal([True, True, 3, 5], unrelated, "settings that have nothing to do with distribution")


@check("CONFIG-05", needs=("config_proto",))
def the_method_is_deprecated_and_left_behind_in_v1(world: World) -> None:
    for strategy in world.each():
        text = inspect.getdoc(strategy.update_config_proto) or ""
        world.true("deprecated" in text.lower(), f"the documentation text calls the method deprecated: {text!r}")
    for strategy in world.each("OneDevice", "Mirrored", "CentralStorage"):
        world.true(not hasattr(strategy, "update_config_proto"), f"{type(strategy).__name__} of v2 does not have it")


def _config(world: World) -> Any:
    """Make a configuration whose settings differ from the defaults."""
    config = world.tf.compat.v1.ConfigProto(allow_soft_placement=True, log_device_placement=True)
    config.inter_op_parallelism_threads = 3
    config.intra_op_parallelism_threads = 5
    return config


def _unrelated(config: Any) -> list[Any]:
    """Return the settings that no strategy needs to change."""
    return [
        config.allow_soft_placement,
        config.log_device_placement,
        config.inter_op_parallelism_threads,
        config.intra_op_parallelism_threads,
    ]
