"""A Ctrl-C between any two instructions leaves every write done or not done, nothing entered, and no later run spoilt."""

import contextvars

import jax
import numpy as np
import pytest

import refdist as tf
from refdist._core.base.where import HERE
from refdist._core.replicas import lockstep
from refdist._core.replicas.values import WRITING
from tests.interrupts import boundaries, interrupted
from tests.thorough import examples

SUM = tf.VariableAggregation.SUM
COUNT = 2


class World:
    """Two variables, of which the second is ten times the first: a step changes both, or neither."""

    def __init__(self, name, **options):
        with tf.using(name, **options):
            devices = [f"CPU:{index}" for index in range(COUNT)] if name == "jax" else None
            self.strategy = tf.distribute.MirroredStrategy(devices)
        with self.strategy.scope():
            self.first = tf.Variable(0.0, aggregation=SUM)
            self.second = tf.Variable(np.zeros(2, np.float32), aggregation=SUM)
            self.own = tf.Variable(0.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=SUM)
        self.step = tf.function(self._step)

    def _step(self):
        def replica():
            self.first.assign_add(tf.constant(1.0))
            self.second.assign_add(tf.constant([10.0, 10.0]))

        self.strategy.run(replica)

    # What is interrupted.

    def run_with_a_write(self):
        self.strategy.run(lambda: self.first.assign_add(tf.constant(1.0)))

    def staged_step(self):
        self.step()

    def assign(self):
        self.first.assign_add(1.0)

    def assign_shares(self):
        self.own.assign(float(self.own) + 2.0)

    def update(self):
        self.strategy.extended.update(self.first, lambda copy: copy.assign_add(1.0))

    def reduce(self):
        self.strategy.reduce("SUM", self.strategy.run(lambda: tf.constant([1.0])), axis=0)

    def create(self):
        # No `with` block of Python's can be left when the Ctrl-C comes as the first thing in the exit that it calls.
        contextvars.copy_context().run(self._create)

    def _create(self):
        with self.strategy.scope():
            tf.Variable(1.0)

    # What must hold afterwards.

    def require_whole(self):
        for variable in (self.first, self.second):
            copies = [np.asarray(copy.stored) for copy in variable.values]
            assert all(np.array_equal(copies[0], copy) for copy in copies), "copies differ"
        shares = [float(copy.stored) for copy in self.own.values]
        assert len(set(shares)) == 1, "one share was assigned, and the other not"
        assert (HERE.get().frame, HERE.get().device) == (None, None), "a scope is still entered"
        assert jax.config.jax_default_device is None
        assert not WRITING._is_owned(), "a lock is still held"

    def require_a_step_as_ever(self):
        before = float(self.first)
        total = self.strategy.run(lambda: tf.distribute.get_replica_context().all_reduce("SUM", tf.constant(1.0)))
        self.first.assign_add(1.0)

        assert [float(COUNT)] * COUNT == [float(value) for value in total.values]
        assert before + 1 == float(self.first)


ACTIONS = ["run_with_a_write", "staged_step", "assign", "assign_shares", "update", "reduce", "create"]


@pytest.mark.parametrize(
    ("backend", "action"),
    [("simulator", action) for action in ACTIONS]
    + [("jax", action) for action in list(ACTIONS)[: examples(1, len(ACTIONS))]],
)
def test_an_interrupt_leaves_nothing_half_done(backend, action):
    world = World(backend, **({"cpus": COUNT} if backend == "jax" else {"gpus": COUNT}))
    act = getattr(world, action)

    def fresh():
        lockstep._POOL.idle.clear()  # greenlets from before the tracing are not traced
        act()

    for _ in range(3):  # the first calls of a function prepare later ones
        fresh()
    count = boundaries(fresh)
    hits = 0
    for number in range(count):
        hits += interrupted(fresh, number)
        world.require_whole()
        if action == "staged_step":
            assert 10 * float(world.first) == float(world.second[0]), "half of a step was written"
    world.require_a_step_as_ever()

    assert hits > 0.9 * count


def test_an_interrupt_while_replicas_are_given_back_does_not_spoil_later_runs():
    world = World("simulator", gpus=COUNT)
    world.run_with_a_write()
    for number in range(boundaries(world.run_with_a_write)):
        interrupted(world.run_with_a_write, number)
        runners = lockstep._POOL.idle

        assert len(runners) == len(set(map(id, runners)))
        world.require_a_step_as_ever()


def test_the_tracer_finds_a_write_that_is_not_whole():
    world = World("host", gpus=COUNT)

    def one_by_one():
        tensor = tf.constant(float(world.first) + 1)
        for copy in world.first.values:
            copy.store(tensor)

    with pytest.raises(AssertionError, match="copies differ"):
        for number in range(boundaries(one_by_one)):
            interrupted(one_by_one, number)
            world.require_whole()
