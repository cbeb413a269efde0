"""A tensor in pieces: what an operation, another device scope and numpy make of where it lies."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

import refdist as tf


@pytest.fixture(params=["host", "simulator"])
def strategy(request):
    """One replica of four cores."""
    with tf.using(request.param, tpus=4):
        topology = tf.tpu.experimental.initialize_tpu_system()
        assignment = tf.tpu.experimental.DeviceAssignment.build(topology, [1, 1, 2, 2])
        yield tf.distribute.TPUStrategy(experimental_device_assignment=assignment)


def lying(strategy, body):
    """Which device has what of a result, by the last letters of its name."""
    return [(device[-5:], piece.tolist()) for device, piece in tf.logical_pieces(strategy.run(body))]


CORES = [f"TPU:{index}" for index in range(4)]
WHOLE = np.arange(8, dtype=np.float32).reshape(2, 4)
QUARTERS = [WHOLE[:1, :2], WHOLE[:1, 2:], WHOLE[1:, :2], WHOLE[1:, 2:]]


def test_pieces_go_to_the_cores_in_order_the_last_dimension_first(strategy):
    split = lying(strategy, lambda: strategy.experimental_split_to_logical_devices(WHOLE, [2, 2]))

    assert [(core, piece.tolist()) for core, piece in zip(CORES, QUARTERS, strict=True)] == split


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: x * 2.0,
        lambda x: 1.0 + x,
        lambda x: np.sqrt(x),
        lambda x: x + x,
        lambda x: tf.identity(x),
        lambda x: x + tf.ones([2, 4]),
        lambda x: tf.ones([2, 4]) + x,
        lambda x: -x,
    ],
)
def test_a_result_of_the_same_shape_is_cut_in_the_same_way(strategy, operation):
    split = lying(strategy, lambda: operation(strategy.experimental_split_to_logical_devices(WHOLE, [2, 2])))
    expected = np.asarray(operation(tf.constant(WHOLE)))
    quarters = [expected[:1, :2], expected[:1, 2:], expected[1:, :2], expected[1:, 2:]]

    assert [(core, piece.tolist()) for core, piece in zip(CORES, quarters, strict=True)] == split


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: tf.reduce_sum(x),
        lambda x: x[0],
        lambda x: x[:, 1:],
        lambda x: np.concatenate([x, x]),
        lambda x: tf.stack([x, x]),
        lambda x: x.reshape(8),
    ],
)
def test_a_result_of_another_shape_is_whole_on_each_core(strategy, operation):
    split = lying(strategy, lambda: operation(strategy.experimental_split_to_logical_devices(WHOLE, [2, 2])))
    expected = np.asarray(operation(tf.constant(WHOLE))).tolist()

    assert [(core, expected) for core in CORES] == split


@pytest.mark.parametrize("core", range(4))
def test_what_is_assigned_to_a_core_stays_there(strategy, core):
    assigned = lying(strategy, lambda: strategy.experimental_assign_to_logical_device(WHOLE, core) * 2.0)

    assert [(CORES[core], (WHOLE * 2).tolist())] == assigned


def test_another_device_scope_brings_it_to_one_device(strategy):
    def body():
        split = strategy.experimental_split_to_logical_devices(WHOLE, [2, 2])
        with tf.device("CPU:0"):
            return split * 2.0

    assert [("CPU:0", (WHOLE * 2).tolist())] == lying(strategy, body)


def test_the_value_of_a_tensor_in_pieces_is_that_of_the_whole(strategy):
    split = strategy.run(lambda: strategy.experimental_split_to_logical_devices(WHOLE, [2, 2]))

    np.testing.assert_array_equal(WHOLE, np.asarray(split))
    np.testing.assert_array_equal(WHOLE, split.numpy())
    assert ((2, 4), np.float32) == (split.shape, split.dtype)


def test_pieces_are_copies_that_nobody_else_sees(strategy):
    split = strategy.run(lambda: strategy.experimental_split_to_logical_devices(WHOLE, [2, 2]))
    for _, piece in tf.logical_pieces(split):
        piece[:] = -1.0

    np.testing.assert_array_equal(WHOLE, np.asarray(split))


def test_a_whole_tensor_on_each_core_is_copied_for_each(strategy):
    replicated = strategy.run(lambda: strategy.experimental_replicate_to_logical_devices(WHOLE))
    pieces = [piece for _, piece in tf.logical_pieces(replicated)]
    pieces[0][:] = -1.0

    assert [WHOLE.tolist()] * 3 == [piece.tolist() for piece in pieces[1:]]


def test_a_tensor_in_pieces_cannot_be_changed(strategy):
    split = strategy.run(lambda: strategy.experimental_split_to_logical_devices(WHOLE, [2, 2]))
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(split)[0] = 1.0


def test_the_last_split_counts(strategy):
    def body():
        split = strategy.experimental_split_to_logical_devices(WHOLE, [1, 4])
        return strategy.experimental_split_to_logical_devices(split, [2, 2])

    assert [(core, piece.tolist()) for core, piece in zip(CORES, QUARTERS, strict=True)] == lying(strategy, body)


@given(partition=generators.sampled_from([p for p in itertools.product([1, 2, 4], repeat=3) if math.prod(p) == 4]))
@settings(max_examples=10)
def test_any_partition_of_all_cores_makes_up_the_whole(partition):
    array = np.arange(64).reshape(4, 4, 4)
    with tf.using("host", tpus=4):
        topology = tf.tpu.experimental.initialize_tpu_system()
        assignment = tf.tpu.experimental.DeviceAssignment.build(topology, [1, 1, 2, 2])
        strategy = tf.distribute.TPUStrategy(experimental_device_assignment=assignment)
        split = strategy.run(lambda: strategy.experimental_split_to_logical_devices(array, partition))
        parts = [piece for _, piece in tf.logical_pieces(split)]

    blocks = np.empty(partition, object)
    for place, piece in zip(np.ndindex(*partition), parts, strict=True):
        blocks[place] = piece
    np.testing.assert_array_equal(array, np.block(blocks.tolist()))


@pytest.mark.parametrize("turn", [lambda x: x.T, np.transpose, lambda x: x.swapaxes(0, 1)])
def test_a_tensor_that_is_turned_loses_nothing(strategy, turn):
    pieces = lying(strategy, lambda: turn(strategy.experimental_split_to_logical_devices(WHOLE, [1, 4])))

    assert [(core, WHOLE.T.tolist()) for core in CORES] == pieces
