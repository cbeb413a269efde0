"""Devices of a cluster hold what is alive on them, and no more than they have room for."""

import contextlib
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


def test_the_holders_that_an_error_names_are_those_of_now(strategy):
    for _ in range(20):
        strategy.run(lambda: float((tf.zeros([50_000]) * 1.0)[0]))
    gc.collect()
    with strategy.scope():
        kept = tf.Variable(np.zeros(150_000, np.float32))
    with pytest.raises(simulator.OutOfMemory, match="600 kB are in use") as caught:
        strategy.run(lambda: tf.zeros([150_000]) + 1.0)

    listed = [line for line in str(caught.value).splitlines() if " made at " in line and line.startswith("  ")]
    assert ["600 kB"] == [line.split(" made at ")[0].strip() for line in listed]
    assert kept.shape == (150_000,)


def test_a_device_can_be_filled_to_the_last_byte(strategy):
    with strategy.scope():
        kept = tf.Variable(np.zeros(250_000, np.float32))
    gc.collect()

    assert 1_000_000 == strategy.extended.backend.memory.resident(0)
    assert kept.shape == (250_000,)


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


def test_what_compiled_programs_make_is_resident_until_it_is_gone(strategy):
    memory = strategy.extended.backend.memory
    with strategy.scope():
        total = tf.Variable(tf.zeros([10_000]))
        own = tf.Variable(
            tf.zeros([10_000]),
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )

    @tf.function
    def step(x):
        def replica(x):
            total.assign_add(tf.distribute.get_replica_context().all_reduce("sum", x))
            own.assign_add(x)
            return x * 2.0

        return strategy.run(replica, args=(x,))

    def resident():
        gc.collect()
        return [memory.resident(device) for device in range(2)]

    x = strategy.run(lambda: tf.ones([10_000]))
    assert [120_000] * 2 == resident()
    for _ in range(3):
        y = step(x)
        assert [160_000] * 2 == resident()
    kept = [y.values, total.numpy(), total.values, own.values]
    assert [160_000] * 2 == resident()
    del y, kept
    assert [120_000] * 2 == resident()


def test_results_of_compiled_programs_that_are_kept_fill_the_memory(strategy):
    with strategy.scope():
        steps = tf.Variable(0.0)

    @tf.function
    def step(x):
        steps.assign_add(1.0)
        return strategy.run(lambda x: x * 2.0, args=(x,))

    x = strategy.run(lambda: tf.ones([50_000]))
    kept = []
    with pytest.raises(simulator.OutOfMemory, match="kB made at a compiled program"):
        for _ in range(10):
            kept.append(step(x))
    assert len(kept) == float(steps)


def test_a_variable_of_the_host_takes_no_room_on_devices():
    with tf.using("simulator", cluster=SMALL) as backend:
        strategy = tf.distribute.experimental.CentralStorageStrategy()
        with strategy.scope():
            total = tf.Variable(tf.zeros([10_000]), aggregation=tf.VariableAggregation.SUM)

        @tf.function
        def step():
            strategy.run(lambda: total.assign_add(tf.ones([10_000])))

        step()
        step()

        assert [0, 0] == [backend.memory.resident(device) for device in range(2)]
        assert 4.0 == total.numpy()[0]


@pytest.mark.parametrize(
    "write",
    [
        lambda strategy, variable, value: variable.assign(value),
        lambda strategy, variable, value: strategy.run(lambda: variable.assign(value)),
        lambda strategy, variable, value: strategy.run(lambda: variable.assign_add(value)),
        lambda strategy, variable, value: strategy.extended.update(variable, lambda v, x: v.assign(x), args=(value,)),
    ],
)
@pytest.mark.parametrize("taken", range(10, 100, 6))
def test_a_write_for_which_one_device_has_no_room_is_not_half_done(strategy, write, taken):
    with strategy.scope():
        variable = tf.Variable(tf.zeros([25_000]), aggregation=tf.VariableAggregation.MEAN)  # of 100 kB
    with tf.device("CPU:0"):
        value = tf.ones([25_000])
    with tf.device("GPU:1"):
        hog = tf.zeros([(900 - 6 * taken) * 250])

    with contextlib.suppress(simulator.OutOfMemory):
        write(strategy, variable, value)

    assert hog.shape
    assert 1 == len({float(copy.numpy()[0]) for copy in variable.values})


def test_a_tensor_that_is_there_already_is_not_held_twice(strategy):
    with tf.device("GPU:0"):
        tensor = tf.zeros([100_000])
        kept = [tf.identity(tensor) for _ in range(5)]

    assert 400_000 == strategy.extended.backend.memory.resident(0)
    assert 5 == len(kept)
