"""Logical devices: the documented examples, from the TPU system to the annotated step."""

from typing import Any

import numpy as np

from conformance.checks import check
from conformance.checks.logical import BY_EIGHT, IMAGES, NEEDS, expect_pieces, logical_devices
from conformance.world import World

STEP_NEEDS = (*NEEDS, "data", "function")


@check("LOGICAL-18", replicas=(1,), needs=STEP_NEEDS)
def images_are_cut_along_width_and_height(world: World) -> None:
    tf, strategy = world.tf, world.tpu(1, 8)
    (group,) = logical_devices(world, strategy)
    pieces = world.pieces(
        strategy.run(lambda: strategy.experimental_split_to_logical_devices(tf.constant(IMAGES), BY_EIGHT))
    )
    world.equal(group, [device for device, _ in pieces], "the devices that have a piece")
    for index, (_, piece) in enumerate(pieces):
        row, column = divmod(index, 4)
        expected = IMAGES[:, 2 * row : 2 * row + 2, 2 * column : 2 * column + 2, :]
        world.equal(expected, world.array(piece), f"the piece on logical device {index}")

    def model(inputs: Any) -> Any:
        return tf.reduce_sum(tf.square(inputs) * 3.0 + 1.0, axis=3)

    @tf.function()
    def step_fn(inputs: Any) -> Any:
        inputs = strategy.experimental_split_to_logical_devices(inputs, BY_EIGHT)
        return model(inputs)

    output = strategy.run(step_fn, args=(_next(world, strategy, IMAGES),))
    world.close(np.sum(IMAGES * IMAGES * 3 + 1, axis=3), output, "the model of the whole images")


@check("LOGICAL-19", replicas=(4,), needs=STEP_NEEDS)
def inputs_are_doubled_on_logical_device_0(world: World) -> None:
    tf, strategy = world.tf, world.tpu(4, 2)
    world.equal(4, strategy.num_replicas_in_sync)
    groups = logical_devices(world, strategy)

    def step_fn(inputs: Any) -> Any:
        output = tf.add(inputs, inputs)
        return strategy.experimental_assign_to_logical_device(output, 0)

    rows = np.arange(8, dtype=np.float32).reshape(4, 2)
    doubled = [2 * rows[index : index + 1] for index in range(4)]
    for step in (step_fn, tf.function(step_fn)):
        result = strategy.run(step, args=(_next(world, strategy, rows),))

        world.equal(doubled, world.locals(strategy, result))
        expected = [[(group[0], value)] for group, value in zip(groups, doubled, strict=True)]
        expect_pieces(world, strategy, result, expected)


@check("LOGICAL-20", replicas=(1,), needs=STEP_NEEDS)
def logits_and_labels_are_shared_by_all_logical_devices(world: World) -> None:
    tf, labels = world.tf, np.array([1, -1], np.float32)

    def model(images: Any) -> Any:
        return tf.reduce_mean(images, axis=[1, 2, 3])

    def loss_of(labels: Any, logits: Any) -> Any:
        return tf.reduce_mean(tf.square(logits - labels))

    printed = world.tpu(4, 2)

    def printed_step(images: Any, labels: Any) -> Any:
        inputs = (images, labels)
        return printed.experimental_split_to_logical_devices(inputs, BY_EIGHT)

    with world.raises(ValueError):
        printed.run(printed_step, args=(tf.constant(IMAGES), tf.constant(labels)))

    strategy = world.tpu(1, 8)
    (group,) = logical_devices(world, strategy)

    def step_fn(images: Any, labels: Any) -> Any:
        images = strategy.experimental_split_to_logical_devices(images, BY_EIGHT)
        labels = strategy.experimental_replicate_to_logical_devices(labels)
        output = strategy.experimental_replicate_to_logical_devices(model(images))
        return labels, output, loss_of(labels, output)

    logits = IMAGES.mean(axis=(1, 2, 3))
    for step in (step_fn, tf.function(step_fn)):
        *shared, loss = strategy.run(step, args=(tf.constant(IMAGES), tf.constant(labels)))

        world.close(np.mean((logits - labels) ** 2), loss, "the loss without logical devices")
        world.close([labels, logits], shared)
        if step is step_fn:
            for tensor, value in zip(shared, (labels, logits), strict=True):
                pieces = world.pieces(tensor)
                world.equal(group, [device for device, _ in pieces], "the devices that have it")
                world.close([value] * len(group), [world.array(piece) for _, piece in pieces], "whole on each")


@check("LOGICAL-21", replicas=(4,), needs=NEEDS)
def the_calls_of_the_set_up_fit_together(world: World) -> None:
    tf, resolvers = world.tf, world.tf.distribute.cluster_resolver
    world.tpus(8)
    resolver = resolvers.TPUClusterResolver(tpu="")
    world.true(isinstance(resolver, resolvers.ClusterResolver), "the resolver is a ClusterResolver")
    tf.config.experimental_connect_to_cluster(resolver)
    topology = tf.tpu.experimental.initialize_tpu_system(resolver)
    world.true(isinstance(topology, tf.tpu.experimental.Topology), "initializing the system gives a Topology")
    assignment = tf.tpu.experimental.DeviceAssignment.build(topology, computation_shape=[1, 1, 1, 2], num_replicas=4)
    world.true(isinstance(assignment, tf.tpu.experimental.DeviceAssignment), "build makes a DeviceAssignment")
    strategy = tf.distribute.TPUStrategy(resolver, experimental_device_assignment=assignment)

    world.same(resolver, strategy.cluster_resolver)
    world.equal(4, strategy.num_replicas_in_sync)
    world.equal([0, 1, 2, 3], world.locals(strategy, strategy.run(lambda: tf.constant(world.replica_id()))))


@check("LOGICAL-22", replicas=(1,), needs=NEEDS)
def a_computation_shape_has_four_entries(world: World) -> None:
    for shape, replicas, logical in (([1, 1, 1, 2], 4, 2), ([1, 2, 2, 2], 1, 8)):
        strategy = world.tf.distribute.TPUStrategy(
            experimental_device_assignment=_assignment(world, shape, replicas, logical)
        )
        _expect_logical(world, strategy, replicas, logical)


@check("LOGICAL-23", replicas=(1,), needs=NEEDS)
def a_computation_shape_may_have_three_entries(world: World) -> None:
    for shape, replicas, logical in (([1, 1, 2], 4, 2), ([2, 2, 2], 1, 8)):
        strategy = world.tf.distribute.experimental.TPUStrategy(
            device_assignment=_assignment(world, shape, replicas, logical)
        )
        _expect_logical(world, strategy, replicas, logical)


@check("LOGICAL-24", replicas=(1,), needs=NEEDS)
def the_newer_spelling_takes_an_experimental_device_assignment(world: World) -> None:
    tf = world.tf
    world.tpus(8)
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="")
    assignment = _assignment(world, [1, 1, 1, 2], 4, 2)
    strategy = tf.distribute.TPUStrategy(resolver, experimental_device_assignment=assignment)
    world.true(isinstance(strategy, tf.distribute.Strategy), "it is a Strategy")
    _expect_logical(world, strategy, 4, 2)

    # Without arguments it has all cores of the local system, each as a replica.
    cores = int(np.prod(tf.tpu.experimental.initialize_tpu_system(resolver).mesh_shape))
    _expect_logical(world, tf.distribute.TPUStrategy(), cores, 1)


@check("LOGICAL-25", replicas=(1,), needs=NEEDS)
def the_older_spelling_takes_a_device_assignment(world: World) -> None:
    tf = world.tf
    world.tpus(8)
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="")
    strategy = tf.distribute.experimental.TPUStrategy(
        resolver, device_assignment=_assignment(world, [1, 1, 1, 2], 4, 2)
    )
    world.true(isinstance(strategy, tf.distribute.Strategy), "it is a Strategy")
    world.same(resolver, strategy.cluster_resolver)
    _expect_logical(world, strategy, 4, 2)


@check("LOGICAL-26", replicas=(1, 4), needs=STEP_NEEDS)
def annotations_are_made_inside_the_step(world: World) -> None:
    tf, strategy = world.tf, world.tpu(world.replicas, 2)
    groups = logical_devices(world, strategy)
    world.equal(2 * world.replicas, len({device for group in groups for device in group}), "devices of all replicas")

    def step_fn(x: Any) -> Any:
        assigned = strategy.experimental_assign_to_logical_device(x + 1.0, 1)
        split = strategy.experimental_split_to_logical_devices(x * 2.0, [2])
        return assigned, split, strategy.experimental_replicate_to_logical_devices(x * 3.0)

    values = [np.array([index, 10 * index], np.float32) for index in range(world.replicas)]
    inputs = world.per_replica(strategy, values)
    for step in (step_fn, tf.function(step_fn)):
        assigned, split, replicated = strategy.run(step, args=(inputs,))

        world.equal([value + 1 for value in values], world.locals(strategy, assigned))
        world.equal([value * 2 for value in values], world.locals(strategy, split))
        world.equal([value * 3 for value in values], world.locals(strategy, replicated))
        if step is step_fn:
            own = list(zip(groups, values, strict=True))
            expect_pieces(world, strategy, assigned, [[(group[1], value + 1)] for group, value in own])
            parts = [[(group[0], value[:1] * 2), (group[1], value[1:] * 2)] for group, value in own]
            expect_pieces(world, strategy, split, parts)
            expect_pieces(world, strategy, replicated, [[(one, value * 3) for one in group] for group, value in own])


def _assignment(world: World, shape: list[int], replicas: int, logical: int) -> Any:
    """Build a device assignment, and expect it to have these counts."""
    world.tpus(replicas * logical)
    experimental = world.tf.tpu.experimental
    topology = experimental.initialize_tpu_system(world.tf.distribute.cluster_resolver.TPUClusterResolver(tpu=""))
    build, refusal, assignment = experimental.DeviceAssignment.build, "", None
    try:
        assignment = build(topology, computation_shape=shape, num_replicas=replicas)
    except ValueError as error:
        refusal = str(error)
    world.equal("", refusal, f"why computation_shape={shape} is refused")
    counts = (assignment.num_replicas, assignment.num_cores_per_replica) if assignment else ()
    world.equal((replicas, logical), counts, "replicas, and logical devices of each")
    return assignment


def _expect_logical(world: World, strategy: Any, replicas: int, logical: int) -> None:
    world.equal(replicas, strategy.num_replicas_in_sync, "replicas")
    groups = logical_devices(world, strategy)
    world.equal([logical] * replicas, [len(group) for group in groups], "logical devices of each replica")
    world.equal(replicas * logical, len({device for group in groups for device in group}), "different devices")


def _next(world: World, strategy: Any, rows: Any) -> Any:
    """Return the first element of a distributed dataset of these rows, in one global batch."""
    dataset = world.tf.data.Dataset.from_tensor_slices(rows).batch(len(rows))
    return next(iter(strategy.experimental_distribute_dataset(dataset)))
