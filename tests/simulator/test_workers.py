"""Workers that share a cluster: the numbers and the times of one strategy over all of its devices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import refdist as tf
import simulator

ctx = tf.distribute.get_replica_context


def cluster():
    return simulator.Cluster.hosts(2, 4, 100e9, 1e-6, 10e9, 5e-6)


def step():
    number = ctx().replica_id_in_sync_group
    simulator.busy(1e-3 * (number % 3))
    x = tf.cast(tf.range(1000), tf.float32) * 0.1 * (number + 1)
    total = ctx().all_reduce("sum", x)
    return ctx().all_reduce("mean", [total, x]), ctx().all_gather(x[:1], axis=0)


def results_and_times(strategy):
    """What two steps and a reduction give, and how long each device computed, communicated and waited in the steps."""
    results = strategy.run(step)
    strategy.run(step)
    report = simulator.report()
    return strategy.experimental_local_results(results), strategy.reduce("sum", strategy.run(ones), axis=None), report


def ones():
    return tf.ones([9])


@pytest.mark.parametrize(
    "options", [{}, {"algorithm": "auto"}, {"algorithm": "hierarchical"}, {"accumulate": "float64"}]
)
@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_workers_have_the_numbers_and_the_times_of_one_strategy_over_all_devices(count, options):
    with tf.using("simulator", cluster=cluster(), **options):
        strategy = tf.distribute.MirroredStrategy(cross_device_ops=tf.distribute.NcclAllReduce())
        expected, reduced, report = results_and_times(strategy)

    with tf.using("simulator", cluster=cluster(), **options):
        found = tf.cluster.run_workers(lambda _: results_and_times(tf.distribute.MultiWorkerMirroredStrategy()), count)

    pieces = [piece for results, _, _ in found for piece in results]
    assert 8 == len(pieces) == len(expected)
    for mine, theirs in zip(tf.nest.flatten(pieces), tf.nest.flatten(list(expected)), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert all(np.array_equal(reduced, theirs) for _, theirs, _ in found)
    assert report == found[-1][-1]  # of the worker that goes on last, when all have computed


def test_an_exchange_of_all_workers_takes_its_time_once():
    def program(index):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        strategy.run(lambda: ctx().all_reduce("sum", tf.zeros([1 << 20])))
        return simulator.now()

    with tf.using("simulator", cluster=cluster()):
        times = tf.cluster.run_workers(program, count=2)

    assert [simulator.predict_all_reduce(cluster(), 4 << 20, "ring").seconds] * 2 == pytest.approx(times, rel=1e-12)


def test_a_slow_worker_is_waited_for():
    def program(index):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()

        def replica():
            simulator.busy(1.0 if index == 1 else 0.0)
            ctx().all_reduce("sum", tf.zeros([8]))

        strategy.run(replica)

    with tf.using("simulator", cluster=cluster()):
        tf.cluster.run_workers(program, count=2)
        lines = simulator.report().splitlines()

    assert ["1.000", "s"] == lines[1].split()[-2:]
    assert ["0", "s"] == lines[8].split()[-2:]


def test_exchanges_of_workers_go_on_in_the_background():
    def program(index):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()

        def replica():
            total = ctx().all_reduce("sum", tf.ones([1 << 20]))
            simulator.busy(1.0)
            return total + 1.0

        with simulator.overlap():
            strategy.run(replica)
        return simulator.now()

    with tf.using("simulator", cluster=cluster()):
        times = tf.cluster.run_workers(program, count=4)

    assert [1.0] * 4 == pytest.approx(times)


def test_several_runs_of_workers_follow_each_other():
    def program(index):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        for _ in range(3):
            strategy.run(lambda: ctx().all_reduce("sum", tf.zeros([8])))
        return simulator.now()

    with tf.using("simulator", cluster=cluster()):
        first = tf.cluster.run_workers(program, count=2)
        second = tf.cluster.run_workers(program, count=4)

    assert len(set(first)) == len(set(second)) == 1
    assert 2 * first[0] == pytest.approx(second[0])


def test_workers_name_their_devices_as_elsewhere():
    def program(index):
        return [str(device) for device in tf.distribute.MultiWorkerMirroredStrategy().extended.worker_devices]

    with tf.using("simulator", cluster=cluster()):
        names = tf.cluster.run_workers(program, count=4)

    assert [f"/job:worker/replica:0/task:3/device:GPU:{number}" for number in range(2)] == names[3]


def test_the_memory_of_a_workers_device_has_an_end():
    kind = simulator.DeviceKind("GPU", memory_bytes=1000.0)

    def program(index):
        return tf.distribute.MultiWorkerMirroredStrategy().run(lambda: tf.zeros([300]) if index else tf.zeros([1]))

    with (
        tf.using("simulator", cluster=simulator.Cluster.star(2, 1e9, 1e-6, kind)),
        pytest.raises(simulator.OutOfMemory, match="GPU:1"),
    ):
        tf.cluster.run_workers(program, count=2)


def test_a_cluster_that_cannot_be_shared_evenly_is_refused():
    with (
        tf.using("simulator", cluster=cluster()),
        pytest.raises(ValueError, match="8 devices was to be shared by 3 workers"),
    ):
        tf.cluster.run_workers(lambda index: index, count=3)


def test_what_workers_of_one_device_compute_with_jax_takes_time_where_they_are():
    kind = simulator.DeviceKind("GPU", flops_per_second=1e9, memory_bandwidth_bytes_per_second=1e9)

    def program(index):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()

        def replica():
            ctx().all_reduce("sum", tf.zeros([1]))
            for _ in range(index):
                jnp.ones(1_000_000).block_until_ready()
            ctx().all_reduce("sum", tf.zeros([1]))

        strategy.run(replica)

    with tf.using("simulator", cluster=simulator.Cluster.star(4, 1e9, 1e-6, kind)):
        tf.cluster.run_workers(program, count=4)
        lines = simulator.report().splitlines()[1:]

    assert ["0 s", "4.000 ms", "8.000 ms", "12.00 ms"] == [" ".join(line.split()[3:5]) for line in lines]


@pytest.mark.parametrize("backend", [{"name": "jax", "cpus": 2}, {"name": "simulator", "cluster": "star"}])
def test_workers_leave_jax_as_it_was(backend):
    options = dict(backend)
    if "cluster" in options:
        options["cluster"] = simulator.Cluster.star(2, 1e9, 1e-6)

    def program(index):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        return [strategy.run(lambda: ctx().all_reduce("sum", tf.ones([2]))) for _ in range(3)]

    before = jax.config.jax_default_device
    with tf.using(**options):
        tf.cluster.run_workers(program, count=2)

    assert before is jax.config.jax_default_device
    with jax.sharding.set_mesh(jax.make_mesh((1,), ("x",))):  # which JAX refuses in the middle of a trace
        pass
