"""Devices of a cluster hold what is alive on them, and no more than they have room for."""

import gc

import numpy as np
import pytest

import refdist as tf
import simulator

SMALL = simulator.Cluster.star(2, 1e9, 0, simulator.DeviceKind("small", memory_bytes=1_000_000))


@pytest.fixture
def strategy():
    with tf.using("simulator", cluster=SMALL):
        yield tf.distribute.MirroredStrategy()


def test_variables_are_resident_on_every_device(strategy):
    with strategy.scope():
        kept = tf.Variable(np.zeros(10_000, np.float32))
    gc.collect()
    memory = strategy.extended.backend.memory

    assert [40_000, 40_000] == [memory.resident(device) for device in range(2)]
    assert "GPU:1" in simulator.memory_report()
    assert "40.0 kB" in simulator.memory_report()
    del kept
    gc.collect()
    assert [0, 0] == [memory.resident(device) for device in range(2)]
    assert memory.peak(0) >= 40_000


def test_too_much_is_an_error_with_the_largest_holders(strategy):
    with strategy.scope():
        kept = tf.Variable(np.zeros(200_000, np.float32))

    def step():
        return tf.zeros([100_000]) + 1.0

    with pytest.raises(simulator.OutOfMemory, match="GPU:0 was to hold 400 kB more") as caught:
        strategy.run(step)

    assert "test_memory.py" in str(caught.value)
    assert "800 kB made at" in str(caught.value)
    assert kept.shape == (200_000,)


def test_what_is_gone_makes_room(strategy):
    for _ in range(20):
        strategy.run(lambda: float((tf.zeros([100_000]) * 1.0)[0]))

    assert strategy.extended.backend.memory.peak(0) <= 1_000_000


def test_memory_without_end_is_not_counted():
    with tf.using("simulator", cluster=simulator.Cluster.star(2, 1e9, 0)):
        tf.distribute.MirroredStrategy()
        with pytest.raises(RuntimeError, match="without end"):
            simulator.memory_report()


def test_a_compiled_program_needs_room_for_what_it_keeps_between_its_steps(strategy):
    with strategy.scope():
        total = tf.Variable(0.0)

    def replica(x):
        first, second = x * 2.0, x @ x  # both are needed until the end
        total.assign_add(tf.distribute.get_replica_context().all_reduce("mean", (first * second).sum()))

    step = tf.function(replica)
    strategy.run(step, args=(strategy.run(lambda: tf.ones([200, 200])),))  # three of 160 kB
    assert 200 * 200 * 2 * 200.0 == float(total)
    assert strategy.extended.backend.memory.peak(0) >= 3 * 160_000
    large = strategy.run(lambda: tf.ones([400, 400]))  # of 640 kB

    with pytest.raises(simulator.OutOfMemory, match=r"GPU:0 was to hold .* more, made at a compiled program"):
        strategy.run(step, args=(large,))
    assert 200 * 200 * 2 * 200.0 == float(total)  # nothing was written
