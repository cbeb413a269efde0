"""Logical devices: assigning, replicating and splitting a tensor to the cores of a replica."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from conformance.checks import check
from conformance.world import World

NEEDS = ("tpu", "logical_devices")
IMAGES = np.arange(2 * 4 * 8 * 3, dtype=np.float32).reshape(2, 4, 8, 3)
"""Batch, width, height and channel, as on the pages."""
BY_EIGHT = [1, 2, 4, 1]
"""Cuts images in 2 along the width and in 4 along the height."""


@check("LOGICAL-01", replicas=(1,), needs=NEEDS)
def assigning_takes_a_tensor_and_an_id(world: World) -> None:
    for kind in _v2_classes(world):
        world.signature(kind.experimental_assign_to_logical_device, ["tensor", "logical_device_id"])


@check("LOGICAL-02", replicas=(1, 4), needs=NEEDS)
def an_assigned_tensor_has_the_same_value(world: World) -> None:
    strategy = world.tpu(world.replicas, 2)
    for id in (0, 1):
        _expect_same_value(world, strategy, lambda x, to=id: strategy.experimental_assign_to_logical_device(x, to))


@check("LOGICAL-03", replicas=(1, 4), needs=NEEDS)
def operations_on_an_assigned_tensor_run_on_its_device(world: World) -> None:
    strategy = world.tpu(world.replicas, 2)
    groups = logical_devices(world, strategy)
    for id in (0, 1):

        def step(id: int = id) -> Any:
            tensor = strategy.experimental_assign_to_logical_device(world.tf.constant([1.0, 2.0]), id)
            return tensor, tensor + tensor, world.tf.reduce_sum(tensor * 3.0)

        for result, value in zip(strategy.run(step), ([1.0, 2.0], [2.0, 4.0], 9.0), strict=True):
            expect_pieces(world, strategy, result, [[(devices[id], value)] for devices in groups])


@check("LOGICAL-04", replicas=(1, 4), needs=NEEDS)
def an_id_beyond_the_logical_devices_is_refused(world: World) -> None:
    strategy = world.tpu(world.replicas, 2)
    for id in (2, 5, -1):
        with world.raises(ValueError):
            strategy.run(lambda to=id: strategy.experimental_assign_to_logical_device(world.tf.constant(1.0), to))
    for id in (0, 1):
        strategy.run(lambda to=id: strategy.experimental_assign_to_logical_device(world.tf.constant(1.0), to))


@check("LOGICAL-05", replicas=(1, 4), needs=NEEDS)
def operations_run_on_logical_device_0_unless_annotated(world: World) -> None:
    strategy = world.tpu(world.replicas, 2)
    first = [devices[0] for devices in logical_devices(world, strategy)]
    value = world.per_replica(strategy, [float(index) for index in range(world.replicas)])

    result = strategy.run(lambda x: world.tf.add(x, x), args=(value,))
    expect_pieces(world, strategy, result, [[(device, 2.0 * index)] for index, device in enumerate(first)])
    world.equal(first, list(strategy.extended.worker_devices), "the devices of the replicas")


@check("LOGICAL-06", replicas=(1, 2), needs=NEEDS)
def only_tpu_strategies_have_logical_devices(world: World) -> None:
    for strategy in world.each():
        if isinstance(strategy, world.tf.distribute.TPUStrategy):
            for call in _calls(world, strategy):
                strategy.run(call)
            continue
        for call in _calls(world, strategy):
            with world.raises() as raised:
                strategy.run(call)
            # The methods are there, and are called rightly; it is what they do that is not supported.
            absent = isinstance(raised.error, AttributeError | TypeError)
            world.true(not absent, f"an error about support, in place of {raised.error!r}")
            with world.raises(), strategy.scope():
                call()


@check("LOGICAL-07", replicas=(1,), needs=NEEDS)
def replicating_takes_a_tensor(world: World) -> None:
    for kind in _v2_classes(world):
        world.signature(kind.experimental_replicate_to_logical_devices, ["tensor"])


@check("LOGICAL-08", replicas=(1, 2), needs=NEEDS)
def a_replicated_tensor_has_the_same_value(world: World) -> None:
    for logical in (2, 8):
        strategy = world.tpu(world.replicas, logical)
        _expect_same_value(world, strategy, strategy.experimental_replicate_to_logical_devices)


@check("LOGICAL-09", replicas=(1, 2), needs=NEEDS)
def operations_on_a_replicated_tensor_run_on_all_logical_devices(world: World) -> None:
    for logical in (2, 8):
        strategy = world.tpu(world.replicas, logical)

        def step(strategy: Any = strategy) -> Any:
            tensor = strategy.experimental_replicate_to_logical_devices(world.tf.constant([1.0, 2.0]))
            return tensor, tensor * 2.0

        groups = logical_devices(world, strategy)
        world.equal([logical] * world.replicas, [len(group) for group in groups], "logical devices of each replica")
        different = {device for group in groups for device in group}
        world.equal(logical * world.replicas, len(different), "different devices of all replicas")
        for result, value in zip(strategy.run(step), ([1.0, 2.0], [2.0, 4.0]), strict=True):
            expect_pieces(world, strategy, result, [[(device, value) for device in group] for group in groups])


@check("LOGICAL-10", replicas=(1,), needs=NEEDS)
def splitting_takes_a_tensor_and_its_partition(world: World) -> None:
    for kind in _v2_classes(world):
        world.signature(kind.experimental_split_to_logical_devices, ["tensor", "partition_dimensions"])


@check("LOGICAL-11", replicas=(1, 2), needs=NEEDS)
def a_split_tensor_has_the_same_value(world: World) -> None:
    strategy = world.tpu(world.replicas, 8)
    result = strategy.run(lambda: strategy.experimental_split_to_logical_devices(world.tf.constant(IMAGES), BY_EIGHT))

    world.equal([IMAGES] * world.replicas, world.locals(strategy, result))
    world.equal(["float32"] * world.replicas, [part.dtype.name for part in world.locals(strategy, result)])


@check("LOGICAL-12", replicas=(1, 2), needs=NEEDS)
def operations_on_a_split_tensor_are_shared_among_logical_devices(world: World) -> None:
    strategy = world.tpu(world.replicas, 8)
    groups = logical_devices(world, strategy)

    def step() -> Any:
        images = strategy.experimental_split_to_logical_devices(world.tf.constant(IMAGES), BY_EIGHT)
        return images, images * 2.0 + 1.0

    for result, whole in zip(strategy.run(step), (IMAGES, IMAGES * 2 + 1), strict=True):
        for part, group in zip(strategy.experimental_local_results(result), groups, strict=True):
            pieces = world.pieces(part)
            world.equal(group, [device for device, _ in pieces], "a piece on each logical device")
            parts = [world.array(piece) for _, piece in pieces]
            rows = [np.concatenate(parts[4 * row : 4 * row + 4], axis=2) for row in (0, 1)]
            world.equal(whole, np.concatenate(rows, axis=1), "the pieces, put together")


@check("LOGICAL-13", replicas=(1,), needs=NEEDS)
def the_partition_is_a_flat_list_with_an_entry_for_each_dimension(world: World) -> None:
    strategy = world.tpu(1, 8)
    world.equal(IMAGES, _split(world, strategy, IMAGES, BY_EIGHT))
    world.equal(IMAGES, _split(world, strategy, IMAGES, [2, 4, 1, 1]))
    with world.raises(ValueError):
        _split(world, strategy, IMAGES, [[1, 2], [4, 1]])


@check("LOGICAL-14", replicas=(1,), needs=NEEDS)
def a_partition_of_another_length_is_refused(world: World) -> None:
    strategy = world.tpu(1, 8)
    for partition in ([2, 4], [1, 2, 4, 1, 1], [8], []):
        with world.raises(ValueError):
            _split(world, strategy, IMAGES, partition)


@check("LOGICAL-15", replicas=(1,), needs=NEEDS)
def a_partition_into_another_number_of_pieces_is_refused(world: World) -> None:
    eight, two = world.tpu(1, 8), world.tpu(1, 2)
    for strategy, partition in ((eight, [1, 2, 2, 1]), (eight, [2, 2, 4, 1]), (two, BY_EIGHT), (two, [1, 1, 1, 1])):
        with world.raises(ValueError):
            _split(world, strategy, IMAGES, partition)
    world.equal(IMAGES, _split(world, two, IMAGES, [1, 2, 1, 1]))


@check("LOGICAL-16", replicas=(1,), needs=NEEDS)
def a_size_that_cannot_be_divided_is_refused(world: World) -> None:
    strategy = world.tpu(1, 8)
    for shape in ((2, 3, 8, 3), (2, 4, 6, 3)):
        with world.raises(ValueError):
            _split(world, strategy, np.zeros(shape, np.float32), BY_EIGHT)
    # Only the dimensions that are cut have to fit.
    _split(world, strategy, np.zeros((3, 2, 4, 5), np.float32), BY_EIGHT)


@check("LOGICAL-17", replicas=(1,), needs=(*NEEDS, "function"))
def a_size_that_is_not_known_yet_is_not_judged(world: World) -> None:
    strategy = world.tpu(1, 8)
    refusals: list[str] = []

    @world.tf.function(input_signature=[world.tf.TensorSpec([None, None, None, 3], world.tf.float32)])
    def step(images: Any) -> Any:
        try:
            images = strategy.experimental_split_to_logical_devices(images, BY_EIGHT)
        except ValueError as error:
            refusals.append(str(error))
        return images * 2.0

    for shape in ((2, 4, 8, 3), (5, 2, 4, 3)):
        images = np.ones(shape, np.float32)
        world.equal(images * 2, strategy.run(step, args=(world.tf.constant(images),)))
        world.equal([], refusals, "what was refused while the step was traced")


def logical_devices(world: World, strategy: Any) -> list[list[str]]:
    """Return the logical devices of each replica: those that have what is replicated."""
    found = strategy.run(lambda: strategy.experimental_replicate_to_logical_devices(world.tf.constant(1.0)))
    return [[device for device, _ in world.pieces(part)] for part in strategy.experimental_local_results(found)]


def expect_pieces(world: World, strategy: Any, result: Any, expected: list[list[tuple[str, Any]]]) -> None:
    """Expect the components of a result to lie in these pieces on these devices."""
    for part, pieces in zip(strategy.experimental_local_results(result), expected, strict=True):
        got = world.pieces(part)
        world.equal([device for device, _ in pieces], [device for device, _ in got], "devices of the pieces")
        world.equal([value for _, value in pieces], [world.array(piece) for _, piece in got], "the pieces")


def _v2_classes(world: World) -> list[Any]:
    distribute = world.tf.distribute
    return [distribute.Strategy, distribute.MultiWorkerMirroredStrategy, *map(type, world.each())]


def _calls(world: World, strategy: Any) -> list[Callable[[], Any]]:
    """Return one right call of each of the three methods, for one logical device."""
    tensor = world.tf.constant([1.0])
    return [
        lambda: strategy.experimental_assign_to_logical_device(tensor, 0),
        lambda: strategy.experimental_replicate_to_logical_devices(tensor),
        lambda: strategy.experimental_split_to_logical_devices(tensor, [1]),
    ]


def _expect_same_value(world: World, strategy: Any, annotate: Callable[[Any], Any]) -> None:
    given: list[tuple[Any, str]] = [([[0.5, 1], [2, 3]], "float32"), ([4, 5, 6], "int32"), (7.0, "float16")]
    for array in (np.array(value, dtype) for value, dtype in given):
        parts = world.locals(strategy, strategy.run(lambda array=array: annotate(world.tf.constant(array))))

        world.equal([array] * world.replicas, parts)
        world.equal([array.dtype.name] * world.replicas, [part.dtype.name for part in parts], "dtypes")


def _split(world: World, strategy: Any, images: npt.NDArray[Any], partition: Any) -> Any:
    return strategy.run(lambda: strategy.experimental_split_to_logical_devices(world.tf.constant(images), partition))
