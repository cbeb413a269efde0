"""Tapes in replicas: gradients go through collectives, and each replica's tape records that replica alone."""

import json
import pathlib

import numpy as np
import pytest

import refdist as tf
import simulator
from tests.refdist.tape.programs_in_replicas import PROGRAMS

FIXTURES = pathlib.Path(__file__).parents[2] / "fixtures"
ANSWERS = json.loads((FIXTURES / "replica_gradients.json").read_text())["answers"]
BACKENDS = {"simulator": {"cpus": 2}, "jax": {"cpus": 2}}


def agree(result, answers):
    assert len(result) == len(answers)
    for parts, expected in zip(result, answers, strict=True):
        for part, answer in zip(parts, expected, strict=True):
            np.testing.assert_allclose(np.asarray(part), answer, rtol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_in_replicas_are_those_of_tensorflow(name, backend):
    with tf.using(backend, **BACKENDS[backend]):
        strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
        agree(PROGRAMS[name](tf, strategy), ANSWERS[name])


class Staged:
    """A strategy whose runs are programs."""

    def __init__(self, strategy):
        self._strategy = strategy

    def __getattr__(self, name):
        return getattr(self._strategy, name)

    def run(self, fn, args):
        return tf.function(lambda *given: self._strategy.run(fn, args=given))(*args)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_in_staged_replicas_are_those_of_tensorflow(name, backend):
    with tf.using(backend, **BACKENDS[backend]):
        strategy = Staged(tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]))
        agree(PROGRAMS[name](tf, strategy), ANSWERS[name])


@pytest.mark.parametrize("replicas", [1, 3, 7])
def test_any_number_of_replicas_takes_the_gradient_of_a_sum_over_all(replicas):
    with tf.using("simulator", gpus=replicas):
        strategy = tf.distribute.MirroredStrategy()

        def step():
            replica = tf.distribute.get_replica_context()
            x = tf.constant(float(replica.replica_id_in_sync_group + 1))
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = replica.all_reduce("SUM", x * x)
            return tape.gradient(y, x)

        gradients = strategy.experimental_local_results(strategy.run(step))

        assert [float(one) for one in gradients] == [2.0 * replicas * (index + 1) for index in range(replicas)]


def test_pieces_of_different_lengths_get_their_own_part_of_a_gathered_gradient():
    with tf.using("simulator", gpus=3):
        strategy = tf.distribute.MirroredStrategy()

        def step():
            replica = tf.distribute.get_replica_context()
            x = tf.ones([replica.replica_id_in_sync_group + 1])
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(replica.all_gather(x, axis=0) * tf.range(6.0))
            return tape.gradient(y, x)

        gradients = strategy.experimental_local_results(strategy.run(step))

        assert [one.numpy().tolist() for one in gradients] == [[0.0], [3.0, 6.0], [9.0, 12.0, 15.0]]


def test_replicas_pause_in_their_tapes_and_leave_them_one_after_the_other():
    with tf.using("simulator", gpus=3):
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            v = tf.Variable(2.0)

        def step():
            replica = tf.distribute.get_replica_context()
            number = float(replica.replica_id_in_sync_group)
            with tf.GradientTape() as tape:
                y = replica.all_reduce("SUM", v) * v * number
                y = y * v if number == 1 else y
            return tape.gradient(y, v)

        gradients = strategy.experimental_local_results(strategy.run(step))

        # Through the collective come the numbers of all, v * (0 + v * 1 + 2); the sum beside it is 6.
        assert [float(one) for one in gradients] == [8.0, 8.0 + 6.0 * 4.0, 8.0 + 12.0]


def test_a_tape_around_a_run_sees_nothing_of_its_replicas():
    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            v = tf.Variable(2.0)

        with tf.GradientTape() as tape:
            result = strategy.reduce("SUM", strategy.run(lambda: v * v), axis=None)

        assert tape.gradient(result, v) is None


def test_a_replica_that_fails_in_its_tape_leaves_nothing_behind():
    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.MirroredStrategy()

        def step():
            replica = tf.distribute.get_replica_context()
            with tf.GradientTape():
                if replica.replica_id_in_sync_group == 1:
                    raise ValueError("lost")
                replica.all_reduce("SUM", 1.0)

        with pytest.raises(ValueError, match="lost"):
            strategy.run(step)

        v = tf.Variable(3.0)
        with tf.GradientTape() as tape:
            y = v * v
        assert float(tape.gradient(y, v)) == 6.0
        assert strategy.experimental_local_results(strategy.run(lambda: tf.constant(1.0) * 2))[0].numpy() == 2.0


def test_what_is_recorded_costs_virtual_time_like_anything_else():
    kind = simulator.DeviceKind("GPU", flops_per_second=1e9, memory_bandwidth_bytes_per_second=1e9)
    with tf.using("simulator", cluster=simulator.Cluster.star(2, 1e9, 1e-6, kind)):
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            v = tf.Variable(tf.ones([100_000]))

        def step():
            with tf.GradientTape() as tape:
                y = tf.reduce_sum(v * v)
            return tape.gradient(y, v)

        gradients = strategy.experimental_local_results(strategy.run(step))

        (spent,) = simulator.steps()
        assert spent.compute_seconds > 1e-3  # it moves more than a megabyte, at a gigabyte per second
        assert gradients[1].numpy().tolist() == [2.0] * 100_000
