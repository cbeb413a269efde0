"""Compiled programs take time on the devices that run them."""

import jax
import numpy as np
import pytest

import refdist as tf
import simulator
from tests.simulator.star import STAR, ctx


@pytest.mark.parametrize("around", [True, False])
def test_staged_programs_take_time_too(strategy, around):
    with strategy.scope():
        w = tf.Variable(np.ones((200, 300), np.float32))

    def replica(x):
        gradient = ctx().all_reduce("mean", x.T @ (x @ w))
        w.assign_sub(0.1 * gradient)

    x = strategy.run(lambda: tf.ones([100, 200]))
    step = tf.function(lambda x: strategy.run(replica, args=(x,))) if around else tf.function(replica)
    before = simulator.now()
    for _ in range(3):
        _ = step(x) if around else strategy.run(step, args=(x,))
    spent = (simulator.now() - before) / 3

    exchange = simulator.predict_all_reduce(STAR, 4 * 200 * 300, "ring").seconds
    products = 2 * 2 * 100 * 200 * 300 / 1e12
    assert exchange + products < spent < exchange + 1.2 * products
    assert w.numpy().shape == (200, 300)


def test_a_loop_in_a_program_counts_every_turn(strategy):
    def replica(x):
        return jax.lax.scan(lambda carry, _: (carry @ carry, None), x, None, length=5)[0]

    x = strategy.run(lambda: tf.ones([100, 100]))
    before = simulator.now()
    strategy.run(tf.function(replica), args=(x,))

    assert simulator.now() - before >= 5 * 2 * 100**3 / 1e12


@pytest.mark.parametrize("replicas", [1, 4])
def test_a_program_is_not_counted_twice(replicas):
    with tf.using("simulator", cluster=STAR):
        strategy = tf.distribute.MirroredStrategy([f"GPU:{index}" for index in range(replicas)])
        staged = tf.function(lambda x: x @ x)
        x = tf.ones([100, 100])
        strategy.run(lambda: staged(x))
        clock = strategy.extended.backend.clock

    assert 2 * 100**3 / 1e12 <= clock.computing[0] < 1.2 * 2 * 100**3 / 1e12
