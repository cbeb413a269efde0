"""What every training step does many times: run, meet, reduce, assign; in microseconds per replica and step."""

import pytest
from greenlet import getcurrent, greenlet

import refdist as tf

COUNTS = [2, 8, 64, 1024, 10_000]
ctx = tf.distribute.get_replica_context


def mirrored(count):
    with tf.using("simulator", gpus=count):
        return tf.distribute.MirroredStrategy()


def rounds(count):
    return max(7, min(300, 20_000 // count))


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.benchmark(group="run")
def test_run_with_one_scalar_all_reduce(per_replica, count):
    strategy = mirrored(count)
    value = strategy.run(lambda: tf.constant(1.0))

    per_replica(lambda: strategy.run(lambda x: ctx().all_reduce("sum", x), args=(value,)), count, rounds(count))


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.benchmark(group="run")
def test_run_without_a_meeting(per_replica, count):
    strategy = mirrored(count)
    value = strategy.run(lambda: tf.constant(1.0))

    per_replica(lambda: strategy.run(lambda x: x, args=(value,)), count, rounds(count))


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.benchmark(group="run")
def test_the_limit_two_bare_switches_for_each_replica(per_replica, count):
    def life():
        parent = getcurrent().parent
        while True:
            parent.switch()

    runners = [greenlet(life) for _ in range(count)]

    def step():
        for _ in range(2):
            for runner in runners:
                runner.switch()

    per_replica(step, count, rounds(count))


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.benchmark(group="reduce")
def test_reduce_of_a_scalar(per_replica, count):
    strategy = mirrored(count)
    value = strategy.run(lambda: tf.constant(1.0))

    per_replica(lambda: strategy.reduce("SUM", value, axis=None), count, rounds(count))


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.benchmark(group="assign_add")
def test_assign_add_in_all_replicas(per_replica, count):
    strategy = mirrored(count)
    with strategy.scope():
        variable = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)
    value = strategy.run(lambda: tf.constant(1.0))

    per_replica(lambda: strategy.run(variable.assign_add, args=(value,)), count, rounds(count))


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.benchmark(group="assign_add")
def test_assign_add_from_outside(per_replica, count):
    strategy = mirrored(count)
    with strategy.scope():
        variable = tf.Variable(0.0)

    per_replica(lambda: variable.assign_add(1.0), count, rounds(count))
