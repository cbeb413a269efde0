"""The clock of a cluster: who computes, waits and communicates how long."""

import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import jax.numpy as jnp
import numpy as np
import pytest

import refdist as tf
import simulator
from simulator.algorithms.schedules import ALGORITHMS, all_to_one, point_to_point
from simulator.devices.clock import Clock
from simulator.predictions.prediction import played
from tests.simulator.star import STAR, ctx


def test_a_collective_takes_its_predicted_time(strategy):
    assert 4 == strategy.num_replicas_in_sync
    strategy.run(lambda: ctx().all_reduce("sum", tf.zeros([1 << 18])))

    assert simulator.predict_all_reduce(STAR, 1 << 20, "ring").seconds == simulator.now()


def test_who_is_early_waits_for_who_is_late(strategy):
    def step():
        simulator.busy(1e-3 * (ctx().replica_id_in_sync_group + 1))
        ctx().all_reduce("sum", tf.zeros([4]))

    strategy.run(step)
    clock = strategy.extended.backend.clock

    assert [1e-3, 2e-3, 3e-3, 4e-3] == pytest.approx(clock.computing)
    assert [3e-3, 2e-3, 1e-3, 0] == pytest.approx(clock.waiting, abs=1e-9)
    assert simulator.now() == pytest.approx(4e-3 + simulator.predict_all_reduce(STAR, 16, "ring").seconds)


def test_computing_takes_the_time_of_the_roofline(strategy):
    def step():
        x = tf.ones([100, 200])
        return x @ tf.ones([200, 300])

    strategy.run(step)

    # 12 million operations at 10^12 a second take longer than moving 440,000 bytes at as many.
    assert 2 * 100 * 200 * 300 / 1e12 == pytest.approx(simulator.now())


def test_gathering_and_reducing_to_one_take_time(strategy):
    strategy.run(lambda: ctx().all_gather(tf.zeros([1024]), axis=0))
    gathered = simulator.now()
    value = strategy.run(lambda: tf.zeros([1024]))
    strategy.reduce("SUM", value, axis=None)

    assert 0 < gathered < simulator.now()


def test_some_devices_of_a_cluster_are_a_strategy_too():
    with tf.using("simulator", cluster=STAR):
        strategy = tf.distribute.MirroredStrategy(["GPU:1", "GPU:3"])
        strategy.run(lambda: ctx().all_reduce("sum", tf.zeros([1024])))
        clock = strategy.extended.backend.clock

    pair = simulator.predict_all_reduce(simulator.Cluster.star(2, 12.5e9, 500e-9), 4096, "ring").seconds
    assert [0.0, pair, 0.0, pair] == pytest.approx(clock.time.tolist())


def test_a_copy_to_another_device_takes_a_message(strategy):
    value = strategy.experimental_local_results(strategy.run(lambda: tf.zeros([1 << 18])))[1]
    with tf.device("GPU:2"):
        tf.identity(value)
    clock = strategy.extended.backend.clock

    seconds = 1e-6 + (1 << 20) / 12.5e9
    assert [0, seconds, seconds, 0] == pytest.approx(clock.time)


def test_a_report_names_every_device(strategy):
    strategy.run(lambda: ctx().all_reduce("sum", tf.zeros([4])))
    lines = simulator.report().splitlines()

    assert 5 == len(lines)
    assert max(map(len, lines)) <= 80
    assert lines[4].startswith("GPU:3")
    with tf.using("simulator", cluster=simulator.Cluster.star(100, 1e9, 0)):
        assert "... 84 more" in simulator.report()


def test_auto_looks_at_the_devices_that_take_part():
    hosts = simulator.Cluster.hosts(4, 4, 400e9, 1e-6, 10e9, 10e-6)
    clock = Clock(hosts, [f"GPU:{index}" for index in range(16)])
    best = {}
    for places in (range(4), range(0, 16, 4), range(16)):
        host = 4 if len(places) == 16 else len(places)
        times = {
            name: played(hosts, ALGORITHMS[name](len(places), host), 1 << 22, devices=np.array(places)).seconds
            for name in ALGORITHMS
        }
        best[len(places), places.step] = min(times, key=times.get)
        assert clock.fastest(places, 1 << 22) == best[len(places), places.step]

    assert len(set(best.values())) > 1


def test_thousands_of_devices_that_begin_at_different_times_exchange_quickly():
    cluster = simulator.Cluster.star(4000, 12.5e9, 500e-9)
    clock = Clock(cluster, [f"GPU:{place}" for place in range(4000)])
    clock.work([7], 1e-3)
    clock.collective(ALGORITHMS["ring"](4000, 1), range(4000), 4096)  # 32 million messages

    assert 1e-3 + simulator.predict_all_reduce(cluster, 4096, "ring").seconds == clock.now()
    assert clock.time == pytest.approx(clock.computing + clock.communicating + clock.waiting)


@pytest.mark.parametrize(
    "cluster",
    [
        STAR,
        simulator.presets.ethernet(hosts=2, devices_per_host=3, gigabits=100),
        simulator.presets.pcie_box(4),
        simulator.presets.tpu_v4((4, 2, 1)),
        simulator.presets.dgx_h100(),
        simulator.Cluster.star(2, 1e9, 0.0),
    ],
)
@pytest.mark.parametrize("size", [0, 1, 4096, 1e9])
@pytest.mark.parametrize("schedule", [point_to_point(), all_to_one(2)], ids=["copy", "all_to_one"])
def test_a_copy_takes_what_a_message_by_itself_takes(cluster, size, schedule):
    for source in range(cluster.device_count):
        for target in {0, 1, cluster.device_count - 1} - {source}:
            pair = np.array([source, target])
            clock = Clock(cluster, [str(place) for place in range(cluster.device_count)])
            clock.work([target], 1e-3)
            done = clock.collective(schedule, [source, target], size)

            assert played(cluster, schedule, size, devices=pair).seconds + 1e-3 == pytest.approx(done, rel=1e-12)


def test_threads_count_what_they_compute_on_their_own_clusters():
    def seconds(turns):
        with tf.using("simulator", cluster=STAR):
            strategy = tf.distribute.MirroredStrategy()
            for _ in range(turns):
                strategy.run(lambda: jnp.ones((16, 16)) @ jnp.ones((16, 16)))
                barrier.wait()
            return simulator.now()

    barrier = threading.Barrier(1)
    alone = seconds(30)
    barrier = threading.Barrier(2)
    with ThreadPoolExecutor(2) as threads:
        assert [alone, alone] == list(threads.map(seconds, [30, 30]))


def test_threads_on_one_cluster_lose_no_time():
    def program(strategy):
        for _ in range(100):
            strategy.run(lambda: ctx().all_reduce("sum", tf.ones([300]) * 2.0))

    with tf.using("simulator", cluster=STAR) as backend:
        strategy = tf.distribute.MirroredStrategy()
        program(strategy)
        with ThreadPoolExecutor(3) as threads:
            list(threads.map(program, [strategy] * 3))
    gc.collect()

    clock = backend.clock
    assert clock.time == pytest.approx(clock.computing + clock.communicating + clock.waiting)
    assert clock.computing == pytest.approx([400 * 2 * 1200 / 1e12] * 4)
    assert [0] * 4 == [backend.memory.resident(place) for place in range(4)]


def test_times_without_end_are_refused():
    slow = simulator.DeviceKind("slow", flops_per_second=1e-320)
    with tf.using("simulator", cluster=simulator.Cluster.star(2, 1e-320, 0, slow)):
        strategy = tf.distribute.MirroredStrategy()
        with pytest.raises(OverflowError, match=r"busy for inf seconds; expected .*\. Give it less work"):
            strategy.run(lambda: tf.ones([1000]) + 1.0)
        with tf.device("GPU:0"):
            tensor = tf.ones([1000])
        with (
            pytest.raises(OverflowError, match=r"busy for inf seconds; expected .*\. Give it less work"),
            tf.device("GPU:1"),
        ):
            tf.identity(tensor)
        with pytest.raises(OverflowError, match="a float can hold"):
            strategy.run(lambda: ctx().all_reduce("sum", tf.ones([1000])))
        assert 0 == simulator.now()


SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def reported():
    """The columns of the report, for each device in seconds: time, compute, collective, waiting."""
    rows = [line.split() for line in simulator.report().splitlines()[1:]]
    return np.array([[float(row[i]) * SECONDS[row[i + 1]] for i in range(1, len(row), 2)] for row in rows])


@pytest.mark.parametrize("late", range(4))
@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_no_time_in_the_report_is_negative_and_together_they_are_all_the_time(algorithm, late):
    class Chosen(tf.distribute.CrossDeviceOps):
        pass

    Chosen.algorithm = algorithm

    def step():
        if ctx().replica_id_in_sync_group == late:
            simulator.busy(1e-3)
        ctx().all_reduce("sum", tf.zeros([4]))

    with tf.using("simulator", cluster=STAR):
        tf.distribute.MirroredStrategy(cross_device_ops=Chosen()).run(step)
        columns = reported()

    assert (columns >= 0).all()
    np.testing.assert_allclose(columns[:, 0], columns[:, 1:].sum(axis=1), rtol=1e-3)


def test_who_has_sent_all_and_is_done_before_the_last_begins_has_waited_and_not_communicated_less_than_nothing():
    with tf.using("simulator", cluster=STAR):
        strategy = tf.distribute.MirroredStrategy()

        def step():
            if ctx().replica_id_in_sync_group == 3:
                simulator.busy(1e-3)
            return tf.zeros([4])

        strategy.extended.reduce_to("SUM", strategy.run(step), "GPU:0")
        columns = reported()

    assert (columns >= 0).all()
    assert (columns[1:3, 0] < 1e-4).all(), "the others are done long before the last one begins"
    assert 1e-3 <= columns[0, 0]
    np.testing.assert_allclose(columns[:, 0], columns[:, 1:].sum(axis=1), rtol=1e-3)
