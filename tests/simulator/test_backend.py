"""The simulator as a backend with a cluster: nothing that takes time or room, or is added up, goes uncounted."""

import ml_dtypes
import numpy as np
import pytest

import refdist as tf
import simulator

ctx = tf.distribute.get_replica_context
KIND = simulator.DeviceKind("GPU", 1e9, 1e12, 1e11)


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


def test_what_a_single_replica_reduces_takes_time_and_room_afterwards():
    with tf.using("simulator", cluster=simulator.Cluster.star(1, 1e9, 1e-6, KIND)) as backend:
        strategy = tf.distribute.MirroredStrategy()

        def step():
            total = ctx().all_reduce("sum", tf.ones([1000]))
            before = simulator.now()
            return total, total * 2, tf.constant(simulator.now() - before)

        total, _, seconds = strategy.run(step)

        assert 8000 / 1e11 == pytest.approx(float(seconds))
        assert 8000 <= backend.memory.resident(0)
        del total


@pytest.mark.parametrize(
    ("dtype", "count"), [(ml_dtypes.bfloat16, 257), (ml_dtypes.float8_e4m3fn, 17), (ml_dtypes.float8_e4m3fn, 500)]
)
def test_a_mean_divides_by_the_number_of_replicas_even_where_their_dtype_has_no_such_number(dtype, count):
    with tf.using("simulator", gpus=count):
        strategy = tf.distribute.MirroredStrategy()
        x = strategy.experimental_distribute_values_from_function(
            lambda context: tf.constant(np.asarray(64 if context.replica_id_in_sync_group == 0 else 0, dtype))
        )

        for reduced in (strategy.reduce, tf.function(strategy.reduce)):
            assert np.asarray(64 / count, dtype) == reduced("mean", x, axis=None).numpy()


def test_servers_are_refused_where_links_are_known():
    spec = tf.train.ClusterSpec({"chief": ["c:1"], "worker": ["w:1"], "ps": ["p:1"]})
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(spec, task_type="chief", task_id=0)
    with (
        tf.using("simulator", cluster=simulator.Cluster.star(4, 1e9, 1e-6)),
        pytest.raises(ValueError, match="devices of other tasks, such as /job:"),
    ):
        tf.distribute.ParameterServerStrategy(resolver)


def test_being_busy_where_there_is_no_clock_is_refused():
    with (
        tf.using("simulator", cluster=simulator.Cluster.star(2, 1e9, 1e-6)),
        tf.device("CPU:0"),
        pytest.raises(RuntimeError, match="CPU:0, which is not in the cluster"),
    ):
        simulator.busy(1.0)


def test_any_finite_number_of_seconds_will_do():
    with tf.using("simulator", cluster=simulator.Cluster.star(2, 1e9, 1e-6)), tf.device("GPU:0"):
        for seconds in (1, 0.5, np.float32(0.25), np.int64(2)):
            simulator.busy(seconds)
        assert 3.75 == simulator.now()
        for wrong in (10**400, float("nan"), float("inf"), -1, np.float32(-1), "1"):
            with pytest.raises(ValueError, match="expected a number of seconds"):
                simulator.busy(wrong)
        assert 3.75 == simulator.now()
