"""A write to a mirrored variable: every device does what the first one computes."""

import numpy as np
import pytest

import refdist as tf
import simulator
from simulator.algorithms.collective_values import value_on
from simulator.algorithms.schedules import ALGORITHMS, broadcast
from simulator.predictions.prediction import played
from tests.simulator.star import STAR, ctx, taken


@pytest.mark.parametrize(
    ("staged", "aggregation"),
    # A program gathers the values of all replicas where it wants that of the first.
    [
        *((False, name) for name in ("SUM", "MEAN", "NONE", "ONLY_FIRST_REPLICA")),
        (True, "SUM"),
        (True, "MEAN"),
        (True, "NONE"),
    ],
)
def test_a_write_takes_what_its_aggregation_needs(strategy, staged, aggregation):
    with strategy.scope():
        variable = tf.Variable(tf.zeros([1 << 18]), aggregation=tf.VariableAggregation[aggregation])
    values = strategy.experimental_distribute_values_from_function(lambda _: tf.ones([1 << 18]))
    step = tf.function(lambda x: variable.assign_add(x)) if staged else lambda x: variable.assign_add(x)
    strategy.run(step, args=(values,))

    seconds = taken(lambda: strategy.run(step, args=(values,)))

    # Adding takes 3 microseconds, and 5 where a program compares and copies too.
    exchange = {
        "NONE": 0.0,
        "ONLY_FIRST_REPLICA": played(STAR, broadcast(4), 1 << 20).seconds,
    }.get(aggregation, simulator.predict_all_reduce(STAR, 1 << 20, "ring").seconds)
    assert exchange + 4.2e-6 == pytest.approx(seconds, abs=1.2e-6)
    clock = strategy.extended.backend.clock
    assert clock.computing == pytest.approx([clock.computing[0]] * 4)  # every device has updated its own copy


def test_an_aggregated_write_has_the_order_of_the_algorithm(strategy):
    arrays = list(np.random.default_rng(0).normal(size=(4, 64)).astype(np.float32))
    with strategy.scope():
        variable = tf.Variable(tf.zeros([64]), aggregation=tf.VariableAggregation.SUM)
    strategy.run(lambda: variable.assign(tf.constant(arrays[ctx().replica_id_in_sync_group])))

    assert value_on(ALGORITHMS["ring"](4, 4), arrays).tobytes() == variable.numpy().tobytes()


def test_one_tensor_comes_to_all_devices_by_a_tree(strategy):
    with tf.device("GPU:2"):
        tensor = tf.ones([1 << 18])
    tree = played(STAR, broadcast(4), 1 << 20).seconds

    assert tree == pytest.approx(
        taken(lambda: strategy.extended.broadcast_to(tensor, strategy.extended.worker_devices))
    )

    def make():
        with strategy.scope():
            return tf.Variable(lambda: tf.ones([1 << 18]))

    assert tree == pytest.approx(taken(make))
    variable = make()
    assert tree == pytest.approx(taken(lambda: variable.assign(tensor)))
    assert 0.0 == taken(lambda: variable.assign(np.ones(1 << 18, np.float32)))  # the host has it


def test_in_the_background_a_write_waits_for_what_is_brought(strategy):
    with tf.device("GPU:0"):
        tensor = tf.ones([1 << 18])
    with strategy.scope():
        variable = tf.Variable(np.zeros(1 << 18, np.float32))
    with simulator.overlap():
        seconds = taken(lambda: variable.assign_add(tensor))

    assert played(STAR, broadcast(4), 1 << 20).seconds < seconds
