"""Device strings: which spellings are accepted, and what is reported."""

import re
from typing import Any

from conformance.checks import check
from conformance.world import World

COMPLETE = re.compile(r"/job:\w+/replica:\d+/task:\d+/device:[A-Z]+:\d+")


@check("DEVICE-01")
def devices_are_reported_in_full(world: World) -> None:
    for name in "CPU:0", *world.names():
        with world.tf.device(name):
            tensor, variable = world.tf.constant(1.0), world.tf.Variable(1.0)

        expected = f"/job:localhost/replica:0/task:0/device:{name}"
        world.equal(expected, world.device(tensor))
        world.equal(expected, world.device(variable))
    for strategy in world.each():
        with strategy.scope():
            variable = world.tf.Variable(1.0)
        result = strategy.run(lambda: world.tf.constant(1.0))

        for value in *strategy.experimental_local_results(variable), *strategy.experimental_local_results(result):
            device = world.device(value)
            world.true(COMPLETE.fullmatch(device), f"a complete device string, not {device!r}")


@check("DEVICE-02", replicas=(1,))
def one_device_takes_names_with_a_slash(world: World) -> None:
    world.gpus(1)
    expected = {"/cpu:0": "CPU:0", "/gpu:0": "GPU:0", "/device:CPU:0": "CPU:0", "/device:GPU:0": "GPU:0"}
    for build in world.tf.distribute.OneDeviceStrategy, world.tf.compat.v1.distribute.OneDeviceStrategy:
        for given, name in expected.items():
            strategy = build(given)
            with strategy.scope():
                variable = world.tf.Variable(1.0)

            world.equal(world.full(name), world.device(variable), given)
            world.equal(world.full(name), world.device(strategy.run(lambda: world.tf.constant(1.0))), given)


@check("DEVICE-03")
def mirrored_takes_names_with_a_slash(world: World) -> None:
    for build in _mirrored(world):
        for pattern in "/{}", "/device:{}":
            given = [pattern.format(name) for name in world.names()]
            _expect_replicas_on_all(world, build(given), f"{given}")
        given = [f"/{name.lower()}" for name in world.names()]
        _expect_replicas_on_all(world, build(given), f"{given}")


@check("DEVICE-04")
def mirrored_takes_names_without_a_slash(world: World) -> None:
    for build in _mirrored(world):
        bare = build([name.upper() for name in world.names()])
        slashed = build([f"/{name.lower()}" for name in world.names()])

        _expect_replicas_on_all(world, bare, "names without a slash")
        world.equal(list(slashed.extended.worker_devices), list(bare.extended.worker_devices))


@check("DEVICE-05")
def device_types_may_be_in_lower_case(world: World) -> None:
    lower = [name.lower() for name in world.names()]
    for build in _mirrored(world):
        _expect_replicas_on_all(world, build(lower), f"{lower}")
    for namespace in world.tf.distribute, world.tf.compat.v1.distribute:
        one = namespace.OneDeviceStrategy(lower[-1])
        world.equal(world.full(lower[-1]), world.device(one.run(lambda: world.tf.constant(1.0))))
        central = namespace.experimental.CentralStorageStrategy(compute_devices=lower, parameter_device="cpu:0")
        _expect_replicas_on_all(world, central, f"{lower}")
        with central.scope():
            world.equal(world.full("CPU:0"), world.device(world.tf.Variable(1.0)))
    with world.tf.device(lower[-1]):
        world.equal(world.full(lower[-1]), world.device(world.tf.constant(1.0)))


@check("DEVICE-06")
def worker_devices_place_constants(world: World) -> None:
    for strategy in world.each():
        names = strategy.extended.worker_devices
        world.equal(strategy.num_replicas_in_sync, len(names))
        for index, expected in enumerate(world.replica_devices(strategy)):
            with world.tf.device(names[index]):
                constant = world.tf.constant(1.0)

            world.equal(expected, world.device(constant))


@check("DEVICE-07", replicas=(1,))
def all_cpus_are_one_device(world: World) -> None:
    if world.names(1) == ["CPU:0"]:
        _expect_one_cpu(world)
        return
    for cpus in 1, 4:
        with world.machine(gpus=0, cpus=cpus):
            _expect_one_cpu(world)


def _expect_one_cpu(world: World) -> None:
    for build in _mirrored(world):
        strategy = build()

        world.equal([world.full("CPU:0")], [world.full(name) for name in strategy.extended.worker_devices])
        world.equal(1, strategy.num_replicas_in_sync)


def _expect_replicas_on_all(world: World, strategy: Any, what: str) -> None:
    """Expect one replica on each of the world's devices, in their order."""
    result = strategy.run(lambda: world.tf.constant(1.0))
    devices = [world.device(part) for part in strategy.experimental_local_results(result)]

    world.equal(len(world.names()), strategy.num_replicas_in_sync, what)
    world.equal([world.full(name) for name in world.names()], devices, what)


def _mirrored(world: World) -> list[Any]:
    return [world.tf.distribute.MirroredStrategy, world.tf.compat.v1.distribute.MirroredStrategy]
