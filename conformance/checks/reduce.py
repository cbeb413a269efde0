"""Strategy.reduce: which arguments it takes, what it computes, and where the result goes."""

from typing import Any

import numpy as np
import numpy.typing as npt

from conformance.checks import check
from conformance.world import World


@check("REDUCE-01")
def v2_reduce_requires_an_axis(world: World) -> None:
    for strategy in world.each():
        value = world.per_replica(strategy, batch(strategy))

        world.signature(strategy.reduce, ["reduce_op", "value", "axis"])
        with world.raises(TypeError):
            strategy.reduce(world.tf.distribute.ReduceOp.SUM, value)


@check("REDUCE-02")
def v1_reduce_has_no_axis_unless_one_is_given(world: World) -> None:
    for strategy in world.each():
        world.signature(strategy.reduce, ["reduce_op", "value", ("axis", None)])
        for op in world.tf.distribute.ReduceOp.SUM, world.tf.distribute.ReduceOp.MEAN:
            value = world.per_replica(strategy, batch(strategy))

            world.equal(world.array(strategy.reduce(op, value, axis=None)), strategy.reduce(op, value))


@check("REDUCE-03")
def the_default_is_to_reduce_over_replicas_only(world: World) -> None:
    sum_op = world.tf.distribute.ReduceOp.SUM
    for strategy in world.each("OneDevice.v1", "Mirrored.v1"):
        value = world.per_replica(strategy, batch(strategy))

        world.equal(np.sum(batch(strategy), axis=0), strategy.reduce(sum_op, value))
    # The v2 signature offers no default, so there the sentence can only be about None.
    for strategy in world.each("OneDevice", "Mirrored"):
        value = world.per_replica(strategy, batch(strategy))

        world.equal(np.sum(batch(strategy), axis=0), strategy.reduce(sum_op, value, axis=None))
        with world.raises(TypeError):
            strategy.reduce(sum_op, value)


@check("REDUCE-04")
def sum_without_axis_adds_element_by_element(world: World) -> None:
    sum_op = world.tf.distribute.ReduceOp.SUM
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        vectors = world.per_replica(strategy, batch(strategy))
        scalars = world.per_replica(strategy, [float(index + 1) for index in range(count)])

        world.equal(np.sum(batch(strategy), axis=0), strategy.reduce(sum_op, vectors, axis=None))
        world.equal(count * (count + 1) / 2, strategy.reduce(sum_op, scalars, axis=None))


@check("REDUCE-05")
def sum_over_the_batch_axis_adds_all_examples(world: World) -> None:
    for strategy in world.each():
        value = world.per_replica(strategy, batch(strategy))

        world.equal(np.sum(batch(strategy)), strategy.reduce(world.tf.distribute.ReduceOp.SUM, value, axis=0))


@check("REDUCE-06")
def mean_without_axis_averages_element_by_element(world: World) -> None:
    mean_op = world.tf.distribute.ReduceOp.MEAN
    for strategy in world.each():
        ids = [float(index) for index in range(strategy.num_replicas_in_sync)]
        vectors = world.per_replica(strategy, batch(strategy))

        world.close(np.mean(batch(strategy), axis=0), strategy.reduce(mean_op, vectors, axis=None))
        world.close(np.mean(ids), strategy.reduce(mean_op, world.per_replica(strategy, ids), axis=None))


@check("REDUCE-07")
def mean_over_the_batch_axis_averages_all_examples(world: World) -> None:
    for strategy in world.each():
        value = world.per_replica(strategy, batch(strategy))

        world.close(np.mean(batch(strategy)), strategy.reduce(world.tf.distribute.ReduceOp.MEAN, value, axis=0))


@check("REDUCE-08", replicas=(2, 3, 8))
def unequal_parts_without_axis_are_a_shape_mismatch(world: World) -> None:
    for strategy in world.each():
        value = world.per_replica(strategy, partial_batch(strategy))
        for op in world.tf.distribute.ReduceOp.SUM, world.tf.distribute.ReduceOp.MEAN:
            with world.raises() as raised:
                strategy.reduce(op, value, axis=None)

            # The pages name no type; TensorFlow's own error about shapes is not a ValueError.
            about_values = isinstance(raised.error, ValueError)
            what = f"an error about shapes, in place of {raised.error!r}"
            world.true(about_values or type(raised.error).__name__ == "InvalidArgumentError", what)


@check("REDUCE-09", replicas=(2, 3, 8))
def unequal_parts_have_a_sum_over_the_batch_axis(world: World) -> None:
    for strategy in world.each():
        value = world.per_replica(strategy, partial_batch(strategy))

        total = strategy.reduce(world.tf.distribute.ReduceOp.SUM, value, axis=0)
        world.equal(sum(examples(strategy)), total)


@check("REDUCE-10", replicas=(2, 3, 8))
def mean_of_unequal_parts_divides_by_the_number_of_examples(world: World) -> None:
    mean_op = world.tf.distribute.ReduceOp.MEAN
    for strategy in world.each():
        value = world.per_replica(strategy, partial_batch(strategy))
        # Parts of two examples, and of one on the last replica: with three replicas 0 to 4, so the mean is 2.
        last = strategy.num_replicas_in_sync - 1
        pairs = [[2.0 * index, 2.0 * index + 1] for index in range(last)] + [[2.0 * last]]

        world.close(np.mean(examples(strategy)), strategy.reduce(mean_op, value, axis=0))
        world.close(float(last), strategy.reduce(mean_op, world.per_replica(strategy, pairs), axis=0))


@check("REDUCE-12")
def the_operation_is_a_member_of_reduce_op(world: World) -> None:
    operations = world.tf.distribute.ReduceOp
    for strategy in world.each():
        value = world.per_replica(strategy, batch(strategy))

        world.equal(np.sum(batch(strategy), axis=0), strategy.reduce(operations.SUM, value, axis=None))
        world.close(np.mean(batch(strategy), axis=0), strategy.reduce(operations.MEAN, value, axis=None))
        for unrelated in object(), 3:
            with world.raises():
                strategy.reduce(unrelated, value, axis=None)


@check("REDUCE-13")
def the_operation_may_be_named_by_a_string(world: World) -> None:
    operations = world.tf.distribute.ReduceOp
    for strategy in world.each():
        value = world.per_replica(strategy, batch(strategy))
        for name, op in ("SUM", operations.SUM), ("MEAN", operations.MEAN):
            for axis in None, 0:
                by_member = world.array(strategy.reduce(op, value, axis=axis))

                world.equal(by_member, strategy.reduce(name, value, axis=axis), f"{name} with axis={axis}")
        with world.raises(ValueError):
            strategy.reduce("PROD", value, axis=None)


@check("REDUCE-14")
def the_string_may_be_in_lower_case(world: World) -> None:
    for strategy in world.each():
        value = world.per_replica(strategy, batch(strategy))

        world.equal(np.sum(batch(strategy), axis=0), strategy.reduce("sum", value, axis=None))
        world.equal(np.sum(batch(strategy)), strategy.reduce("sum", value, axis=0))
        world.close(np.mean(batch(strategy)), strategy.reduce("mean", value, axis=0))


@check("REDUCE-15")
def the_result_is_on_the_current_device(world: World) -> None:
    last = world.names()[-1]
    for strategy in world.each():
        value = world.per_replica(strategy, batch(strategy))
        for axis in None, 0:
            ordinary = strategy.reduce("SUM", value, axis=axis)
            with world.tf.device(last):
                elsewhere = strategy.reduce("SUM", value, axis=axis)

            world.equal(world.full("CPU:0"), world.device(ordinary), f"axis={axis}")
            world.equal(world.full(last), world.device(elsewhere), f"axis={axis}, within tf.device({last!r})")
            world.equal(world.array(ordinary), elsewhere)


@check("REDUCE-16")
def the_result_is_one_ordinary_tensor(world: World) -> None:
    tensor_type = type(world.tf.constant(0.0))
    for strategy in world.each():
        value = world.per_replica(strategy, batch(strategy))
        for axis, expected in (None, np.sum(batch(strategy), axis=0)), (0, np.sum(batch(strategy))):
            result = strategy.reduce(world.tf.distribute.ReduceOp.SUM, value, axis=axis)

            distributed = isinstance(result, world.tf.distribute.DistributedValues)
            world.true(not distributed, f"no distributed value with axis={axis}")
            world.true(isinstance(result, tensor_type), f"a {tensor_type.__name__}, not a {type(result).__name__}")
            world.equal(expected, world.array(result))


@check("REDUCE-21")
def what_run_returned_is_merged_into_one_tensor(world: World) -> None:
    for strategy in world.each():
        equal = strategy.run(lambda: world.tf.constant(2.0))
        different = strategy.run(lambda: world.tf.constant(float(world.replica_id())))

        count = strategy.num_replicas_in_sync
        for value, expected in (equal, 2.0 * count), (different, count * (count - 1) / 2):
            result = strategy.reduce(world.tf.distribute.ReduceOp.SUM, value, axis=None)
            world.true(not isinstance(result, world.tf.distribute.DistributedValues), "no distributed value")
            world.equal(expected, result)


@check("REDUCE-22", replicas=(1,))
def strategies_with_one_device_take_a_regular_tensor(world: World) -> None:
    for strategy in world.each():
        tensor = world.tf.range(10)

        world.equal(45, strategy.reduce("SUM", tensor, axis=0))
        world.equal(list(range(10)), world.array(strategy.reduce("SUM", tensor, axis=None)))


@check("REDUCE-23")
def values_made_by_a_function_can_be_reduced(world: World) -> None:
    def number(context: Any) -> float:
        return float(context.replica_id_in_sync_group)

    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        for value_fn in number, lambda context: world.tf.constant(number(context)):
            value = strategy.experimental_distribute_values_from_function(value_fn)

            result = strategy.reduce(world.tf.distribute.ReduceOp.SUM, value, axis=None)
            world.equal(count * (count - 1) / 2, result)


@check("REDUCE-24")
def the_axis_counts_within_the_tensor_of_one_replica(world: World) -> None:
    for strategy in world.each():
        matrices = np.arange(6.0 * strategy.num_replicas_in_sync).reshape(-1, 2, 3)
        value = world.per_replica(strategy, matrices.tolist())
        # Across replicas is one more dimension, in front, of the stack of all tensors.
        for axis, stacked_axes in (None, 0), (0, (0, 1)), (1, (0, 2)):
            total = strategy.reduce(world.tf.distribute.ReduceOp.SUM, value, axis=axis)
            mean = strategy.reduce(world.tf.distribute.ReduceOp.MEAN, value, axis=axis)

            world.equal(np.sum(matrices, axis=stacked_axes), total, f"axis={axis}")
            world.close(np.mean(matrices, axis=stacked_axes), mean, f"axis={axis}")


@check("REDUCE-25")
def values_without_a_batch_dimension_keep_their_shape(world: World) -> None:
    sum_op = world.tf.distribute.ReduceOp.SUM
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        scalars = [1.5 + index for index in range(count)]
        world.equal(sum(scalars), strategy.reduce(sum_op, world.per_replica(strategy, scalars), axis=None))

        for shape in (3,), (1, 3), (3, 1):
            gradients = [np.full(shape, value, np.float32) for value in scalars]
            per_replica = world.per_replica(strategy, gradients)

            world.equal(np.sum(gradients, axis=0), strategy.reduce(sum_op, per_replica, axis=None))


def batch(strategy: Any) -> list[list[float]]:
    """Return four examples for each replica, counted through: [0, 1, 2, 3], [4, 5, 6, 7] and so on."""
    return [[4.0 * index + place for place in range(4)] for index in range(strategy.num_replicas_in_sync)]


def partial_batch(strategy: Any) -> list[list[float]]:
    """Return the same examples without the last two, so that the part of the last replica is smaller."""
    *full, last = batch(strategy)
    return [*full, last[:2]]


def examples(strategy: Any) -> npt.NDArray[Any]:
    """Return all examples of the partial batch in one array."""
    return np.concatenate(partial_batch(strategy))
