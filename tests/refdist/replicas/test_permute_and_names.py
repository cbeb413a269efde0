"""What is ours on a replica's context: `permute`, and names that replicas compare when they meet."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as generators

import refdist as tf

MODES = pytest.mark.parametrize("mode", [lambda body: body, tf.function], ids=["eager", "function"])


def replica():
    return tf.distribute.get_replica_context()


def of_each(strategy, found):
    return [np.asarray(value).tolist() for value in strategy.experimental_local_results(found)]


@MODES
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=6)
@given(order=generators.permutations(range(4)))
def test_each_replica_gets_what_its_source_has(mode, names, order):
    strategy = tf.distribute.MirroredStrategy(names[:4])
    count = len(strategy.extended.worker_devices)
    order = [number for number in order if number < count]

    def step():
        number = tf.constant(float(replica().replica_id_in_sync_group))
        return replica().permute({"a": number, "b": number + 10}, list(enumerate(order)))

    found = mode(lambda: strategy.run(step))()
    expected = [float(order.index(target)) for target in range(count)]

    assert of_each(strategy, found["a"]) == expected
    assert of_each(strategy, found["b"]) == [value + 10 for value in expected]


@MODES
def test_a_permuted_value_differs_between_replicas_although_it_was_met_for(mode, names):
    strategy = tf.distribute.MirroredStrategy(names[:2])

    def step():
        moved = replica().permute(tf.constant(float(replica().replica_id_in_sync_group)), [(0, 1), (1, 0)])
        return replica().all_reduce("SUM", moved), moved

    total, moved = mode(lambda: strategy.run(step))()

    assert of_each(strategy, total) == [1.0, 1.0]
    assert of_each(strategy, moved) == [1.0, 0.0]


@pytest.mark.parametrize(
    ("pairs", "text"),
    [
        ([(0, 1), (1, 1)], r"the pair \(1, 1\), but replica 1 already receives from 0"),
        ([(0, 1), (0, 0)], r"the pair \(0, 0\), but replica 0 already sends to 1"),
        ([(0, 2), (1, 0)], r"the pair \(0, 2\), but there are 2 replicas"),
        ([(0, 1)], r"1 pairs for 2 replicas, and none whose target is 0"),
    ],
)
@MODES
def test_what_is_no_permutation_is_refused_by_the_pair(mode, pairs, text):
    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.MirroredStrategy()
        with pytest.raises(ValueError, match=text):
            mode(lambda: strategy.run(lambda: replica().permute(tf.constant(1.0), pairs)))()


def test_workers_permute_together():
    def program(worker):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        found = strategy.run(lambda: replica().permute(tf.constant(float(worker)), [(0, 1), (1, 2), (2, 3), (3, 0)]))
        return of_each(strategy, found)

    with tf.using("simulator", gpus=2):
        assert tf.cluster.run_workers(program, 2) == [[1.0, 0.0], [0.0, 1.0]]


def test_permuting_takes_time_on_a_cluster():
    with tf.using("simulator", cluster=tf.simulator.Cluster.star(4, 1e9, 1e-6)) as backend:
        strategy = tf.distribute.MirroredStrategy()
        before = backend.clock.now()
        strategy.run(lambda: replica().permute(tf.zeros([1000]), [(i, (i + 1) % 4) for i in range(4)]))

        assert backend.clock.now() > before


@MODES
@pytest.mark.parametrize("verb", ["all_reduce", "all_gather"])
def test_names_that_differ_do_not_meet(mode, names, verb):
    strategy = tf.distribute.MirroredStrategy(names[:2])

    def step():
        values = {"w": tf.constant([1.0]), "b": tf.constant([10.0])}
        order = ("w", "b") if replica().replica_id_in_sync_group else ("b", "w")
        if verb == "all_reduce":
            return {name: replica().all_reduce("SUM", values[name], name=name) for name in order}
        return {name: replica().all_gather(values[name], 0, name=name) for name in order}

    with pytest.raises(tf.errors.MeetingError, match=r"name='b'\)(.|\n)*name='w'\)"):
        mode(lambda: strategy.run(step))()


@MODES
def test_names_that_agree_change_nothing(mode, names):
    strategy = tf.distribute.MirroredStrategy(names[:2])
    found = mode(lambda: strategy.run(lambda: replica().all_reduce("SUM", tf.constant(2.0), name="g")))()

    assert of_each(strategy, found) == [4.0, 4.0]


def test_names_are_compared_between_workers():
    def program(worker):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        return strategy.run(lambda: replica().all_reduce("SUM", tf.constant(1.0), name=f"model_{worker}/w"))

    with tf.using("simulator", gpus=1), pytest.raises(tf.errors.MeetingError, match="model_0/w"):
        tf.cluster.run_workers(program, 2)
