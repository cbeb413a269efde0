"""Collectives have the order and the precision of the algorithm that was chosen."""

import ml_dtypes
import numpy as np
import pytest

import refdist as tf
import simulator
from simulator.algorithms.collective_values import value_on
from simulator.algorithms.schedules import ALGORITHMS
from simulator.predictions.prediction import played
from tests.simulator.star import STAR, ctx

KIND = simulator.DeviceKind("GPU", 1e9, 1e12, 1e11)


@pytest.mark.parametrize(
    ("operations", "name"),
    [
        (tf.distribute.NcclAllReduce(), "ring"),
        (tf.distribute.HierarchicalCopyAllReduce(), "hierarchical"),
        (tf.distribute.ReductionToOneDevice(), "reduce_broadcast"),
    ],
)
def test_numbers_are_those_of_the_algorithm(operations, name):
    with tf.using("simulator", cluster=STAR):
        strategy = tf.distribute.MirroredStrategy(cross_device_ops=operations)
        rows = np.random.default_rng(0).normal(size=(4, 37)).astype(ml_dtypes.bfloat16)
        result = strategy.run(lambda: ctx().all_reduce("sum", tf.constant(rows[ctx().replica_id_in_sync_group])))

    expected = value_on(ALGORITHMS[name](4, 4), list(rows))
    for part in strategy.experimental_local_results(result):
        assert expected.tobytes() == np.asarray(part).tobytes()


def test_auto_takes_the_fastest():
    for size in (16, 1 << 22):
        with tf.using("simulator", cluster=STAR, algorithm="auto"):
            tf.distribute.MirroredStrategy().run(lambda size=size: ctx().all_reduce("sum", tf.zeros([size])))
            assert simulator.predict_all_reduce(STAR, 4 * size).seconds == simulator.now()


def test_a_switch_that_adds_is_used_where_it_is_asked_for():
    with tf.using("simulator", cluster=STAR, algorithm="in_switch"):
        strategy = tf.distribute.MirroredStrategy()

        def step():
            simulator.busy(1e-3 * ctx().replica_id_in_sync_group)
            return ctx().all_reduce("sum", tf.ones([1024]))

        result = strategy.run(step)
        seconds = simulator.predict_all_reduce(STAR, 4096, "in_switch").seconds
        assert 3e-3 + seconds == pytest.approx(simulator.now())
        strategy.run(tf.function(lambda x: ctx().all_reduce("sum", x)), args=(tf.ones([1024]),))
        assert 3e-3 + 2 * seconds < simulator.now() < 3e-3 + 2 * seconds + 1e-7

    assert [4.0] * 4 == [float(part[0]) for part in strategy.experimental_local_results(result)]


def test_a_switch_that_adds_shows_in_traces():
    with tf.using("simulator", cluster=STAR, algorithm="in_switch"), simulator.trace() as recording:
        strategy = tf.distribute.MirroredStrategy()

        def step():
            simulator.busy(1e-6 * ctx().replica_id_in_sync_group)
            return ctx().all_reduce("sum", tf.ones([1024]))

        strategy.run(step)

    spans = recording.trace().by_track()
    assert ["step 1", "busy", "wait", "all_reduce SUM 4.10 kB, in_switch"] == [span.name for span in spans["GPU:2"]]
    assert ["step 1", "busy", "all_reduce SUM 4.10 kB, in_switch"] == [
        span.name for span in spans["GPU:3"] if span.end_seconds > span.start_seconds
    ]


def test_a_wider_accumulation_is_a_choice_of_the_cluster():
    values = [256.0, 1.0, 1.0, 1.0]

    def step():
        return ctx().all_reduce("sum", tf.constant([values[ctx().replica_id_in_sync_group]], tf.bfloat16))

    results = []
    for accumulate in (None, "float32", np.float64, tf.float32):
        with tf.using("simulator", cluster=STAR, accumulate=accumulate):
            strategy = tf.distribute.MirroredStrategy()
            results.append([float(part[0]) for part in strategy.experimental_local_results(strategy.run(step))])

    assert [[256.0] * 4, [260.0] * 4, [260.0] * 4, [260.0] * 4] == results  # 259 rounds to 260


def test_a_wider_accumulation_leaves_integers_alone():
    with tf.using("simulator", cluster=STAR, accumulate="float32"):
        strategy = tf.distribute.MirroredStrategy()
        large = strategy.run(lambda: ctx().all_reduce("sum", tf.constant(2**60 + 1, tf.int64)))

    assert [4 * (2**60 + 1)] * 4 == [int(part) for part in strategy.experimental_local_results(large)]


@pytest.mark.parametrize(
    ("devices", "size"),
    [
        (range(12), 3),
        (range(3, 9), 3),  # two of the four hosts
        ([0, 1, 3, 4, 9, 10], 2),  # two devices of each of three
        ([0, 3, 6], 1),
        ([0, 1, 2], 3),
        ([0, 1, 2, 3], 4),  # not as many of each host
        ([0, 3, 1, 4], 4),  # not beside each other
        ([5], 1),
    ],
)
def test_a_part_of_the_hosts_is_hierarchical_too(devices, size):
    cluster = simulator.Cluster.hosts(4, 3, 1e11, 1e-7, 1e9, 1e-6)
    with tf.using("simulator", cluster=cluster) as backend:
        names = [f"GPU:{device}" for device in devices]
        ops = tf.distribute.HierarchicalCopyAllReduce()
        strategy = tf.distribute.MirroredStrategy(names, cross_device_ops=ops)
        strategy.run(lambda: ctx().all_reduce("sum", tf.ones([1000])))

        schedule = ALGORITHMS["hierarchical"](len(names), size)
        assert size == backend.clock.host_size(list(devices))
        assert played(cluster, schedule, 4000, devices=np.array(devices)).seconds == pytest.approx(simulator.now())


@pytest.mark.parametrize("algorithm", ["ring", "in_switch"])
def test_a_wider_accumulation_holds_however_values_meet(algorithm):
    cluster = simulator.Cluster.star(16, 1e9, 1e-6, KIND)
    values = [np.asarray(256 if place == 0 else 1, ml_dtypes.bfloat16) for place in range(16)]
    with tf.using("simulator", cluster=cluster, algorithm=algorithm, accumulate="float32"):
        to_one = tf.distribute.ReductionToOneDevice("GPU:0")
        for strategy in (tf.distribute.MirroredStrategy(), tf.distribute.MirroredStrategy(cross_device_ops=to_one)):
            x = strategy.experimental_distribute_values_from_function(
                lambda context: tf.constant(values[context.replica_id_in_sync_group])
            )
            total = strategy.run(lambda x: ctx().all_reduce("sum", x), args=(x,))

            # 271 is between two numbers of this dtype; added one by one the ones would be lost.
            assert {272.0} == {float(one) for one in total.values}


def test_a_wider_accumulation_that_overflows_when_it_is_rounded_is_silent():
    cluster = simulator.Cluster.star(2, 1e9, 1e-6, KIND)
    with tf.using("simulator", cluster=cluster, algorithm="in_switch", accumulate="float32"):
        strategy = tf.distribute.MirroredStrategy()
        total = strategy.run(lambda: ctx().all_reduce("sum", tf.constant(np.float16([6e4]))))

    assert np.isinf(total.values[0][0])
