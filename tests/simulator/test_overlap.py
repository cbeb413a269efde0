"""Exchanges in the background: devices go on computing, and wait for what they need."""

import contextlib

import jax.numpy as jnp
import numpy as np
import pytest

import refdist as tf
import simulator
from tests.simulator.star import STAR, ctx


def test_exchanges_in_the_background_hide_behind_computing(strategy):
    exchange = simulator.predict_all_reduce(STAR, 1 << 20, "ring").seconds

    def step(work):
        ctx().all_reduce("sum", tf.zeros([1 << 18]))
        ctx().all_reduce("sum", tf.zeros([1 << 18]))
        simulator.busy(work)

    with simulator.overlap():
        strategy.run(step, args=(3 * exchange,))
    assert 3 * exchange == pytest.approx(simulator.now())
    with simulator.overlap():
        strategy.run(step, args=(0.5 * exchange,))
    assert 5 * exchange == pytest.approx(simulator.now())  # two exchanges, one after the other
    strategy.run(step, args=(exchange,))
    assert 8 * exchange == pytest.approx(simulator.now())


def test_a_trace_shows_exchanges_in_the_background_beside_the_device(strategy):
    def step():
        ctx().all_reduce("sum", tf.zeros([1 << 18]))
        simulator.busy(1e-5)

    with simulator.trace() as recording, simulator.overlap():
        strategy.run(step)

    names = {span.track for span in recording.trace().spans}
    assert {"GPU:0", "GPU:0 exchange"} <= names


@pytest.mark.parametrize("overlapping", [False, True])
def test_in_the_background_a_program_exchanges_what_is_ready_while_it_computes_the_rest(strategy, overlapping):
    def replica(x):
        early = ctx().all_reduce("sum", x @ x)
        late = x
        for _ in range(6):
            late = late @ x
        return early + late  # needs both

    x = strategy.run(lambda: tf.ones([512, 512]))
    step = tf.function(replica)
    strategy.run(step, args=(x,))
    before = simulator.now()
    with simulator.overlap() if overlapping else contextlib.nullcontext():
        strategy.run(step, args=(x,))
    spent = simulator.now() - before

    product = 2 * 512**3 / 1e12
    exchange = simulator.predict_all_reduce(STAR, 4 * 512 * 512, "ring").seconds
    assert 0.4 * product < exchange < 6 * product  # so that it shows
    expected = 7 * product if overlapping else 7 * product + exchange
    assert expected == pytest.approx(spent, rel=0.05)


def test_work_that_needs_an_exchange_waits_for_it_in_the_background_too(strategy):
    def replica(x):
        return ctx().all_reduce("sum", x) @ x

    x = strategy.run(lambda: tf.ones([512, 512]))
    step = tf.function(replica)
    strategy.run(step, args=(x,))
    before = simulator.now()
    with simulator.overlap():
        strategy.run(step, args=(x,))

    product = 2 * 512**3 / 1e12
    exchange = simulator.predict_all_reduce(STAR, 4 * 512 * 512, "ring").seconds
    assert product + exchange == pytest.approx(simulator.now() - before, rel=0.05)


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x * 2,
        lambda x: np.mean(x),
        lambda x: x[None] + 1,
        lambda x: x[[0]],
        lambda x: tf.cast(x, tf.float64),
        lambda x: jnp.sum(x),
        lambda x: jnp.asarray(x) * 2,
    ],
)
@pytest.mark.parametrize("exchange", [lambda x: ctx().all_reduce("sum", x), lambda x: ctx().all_gather(x, 0)])
def test_in_the_background_computing_waits_for_what_it_needs(strategy, exchange, use):
    def step():
        result = exchange(tf.zeros([1 << 18]))
        simulator.busy(1e-6)
        use(result)
        simulator.busy(1e-3)

    with simulator.overlap():
        strategy.run(step)
    clock = strategy.extended.backend.clock

    assert all(clock.waiting > 0)
    assert clock.time == pytest.approx(clock.computing + clock.waiting)


def test_in_the_background_a_variable_is_there_when_it_has_come(strategy):
    with strategy.scope():
        variable = tf.Variable(tf.zeros([1 << 18]))

    def step():
        variable.assign(ctx().all_reduce("sum", tf.zeros([1 << 18])))
        simulator.busy(1e-6)
        return variable + 1.0

    clock = strategy.extended.backend.clock
    with simulator.overlap():
        strategy.run(step)
        assert all(clock.waiting > 0)


def test_in_the_background_a_program_waits_for_what_it_takes(strategy):
    with strategy.scope():
        variable = tf.Variable(tf.zeros([1 << 18]))
    clock = strategy.extended.backend.clock
    doubled = tf.function(lambda x: x * 2.0)
    read = tf.function(lambda: variable.read_value() * 2.0)
    strategy.run(read)
    exchange = simulator.predict_all_reduce(STAR, 1 << 20, "ring").seconds

    def exchanged(then):
        clock.wait(range(4), np.full(4, clock.now()))  # so that all begin at once
        before = clock.waiting.copy()
        with simulator.overlap():
            then(strategy.run(lambda: ctx().all_reduce("sum", tf.zeros([1 << 18]))))
            return clock.waiting - before

    assert [exchange] * 4 == pytest.approx(exchanged(lambda total: strategy.run(doubled, args=(total,))))
    assert [0.0] * 4 == exchanged(lambda total: None).tolist()

    def assigned(total):
        strategy.run(lambda x: variable.assign(x), args=(total,))
        strategy.run(read)

    assert all(exchanged(assigned) >= exchange * 0.999)
