"""The simulator with a cluster: nothing that takes time or room, or is added up, goes uncounted."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import refdist as tf
import simulator
from simulator.algorithms.collective_values import value_on
from simulator.algorithms.schedules import ALGORITHMS, all_to_one
from simulator.predictions.prediction import played
from tests.children import run_python
from tests.simulator.star import STAR, ctx, taken

KIND = simulator.DeviceKind("GPU", 1e9, 1e12, 1e11)


UNLIKE = simulator.Cluster.of_links(
    ["a", "b", "c"], [("a", "s", 1e9, 1e-6), ("b", "s", 1e9, 1e-6), ("c", "s", 1e7, 1e-6)]
)


@pytest.mark.parametrize("target", [0, 1, 2])
def test_a_reduction_to_one_device_goes_to_that_device(target):
    arrays = [np.float32([3e7]), np.float32([1.0]), np.float32([-3e7])]
    with tf.using("simulator", cluster=UNLIKE):
        strategy = tf.distribute.MirroredStrategy()
        values = strategy.experimental_distribute_values_from_function(
            lambda context: tf.constant(arrays[context.replica_id_in_sync_group])
        )
        order = [target, *(place for place in range(3) if place != target)]
        schedule = all_to_one(3)

        total = []
        seconds = taken(lambda: total.append(strategy.extended.reduce_to("sum", values, f"GPU:{target}")))

    assert played(UNLIKE, schedule, 4, devices=np.array(order)).seconds == pytest.approx(seconds)
    assert value_on(schedule, [arrays[place] for place in order]).tolist() == total[0].numpy().tolist()


def test_a_reduction_to_a_device_that_takes_no_part_takes_one_message_more():
    with tf.using("simulator", cluster=STAR):
        strategy = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"])
        values = strategy.experimental_distribute_values_from_function(lambda _: tf.zeros([1 << 18]))
        beside = taken(lambda: strategy.extended.reduce_to("sum", values, "GPU:1"))
        beyond = taken(lambda: strategy.extended.reduce_to("sum", values, "GPU:3"))

    assert beyond == pytest.approx(2 * beside)


@pytest.mark.parametrize("accumulate", [None, lambda tensors: sum(tensors[1:], tensors[0])])
def test_a_chosen_device_gets_all_and_gives_to_all(accumulate):
    with tf.using("simulator", cluster=STAR):
        ops = tf.distribute.ReductionToOneDevice("GPU:3", accumulate)
        strategy = tf.distribute.MirroredStrategy(cross_device_ops=ops)
        values = strategy.experimental_distribute_values_from_function(lambda _: tf.ones([1 << 18]))
        with strategy.scope():
            variable = tf.Variable(np.zeros(1 << 18, np.float32), aggregation=tf.VariableAggregation.SUM)
        both = played(STAR, ALGORITHMS["reduce_broadcast"](4, 4), 1 << 20).seconds
        seconds = taken(lambda: strategy.run(lambda x: ctx().all_reduce("sum", x), args=(values,)))
        write = taken(lambda: strategy.run(lambda x: variable.assign(x), args=(values,)))

    if accumulate is None:
        assert both == pytest.approx(seconds)
        assert both == pytest.approx(write)
    assert both <= seconds
    assert 4.0 == variable.numpy().max()


def test_what_jax_computes_at_once_takes_the_time_of_the_roofline(strategy):
    x = np.ones((100, 200), np.float32)

    def step():
        product = jnp.asarray(x) @ jnp.ones((200, 300))
        gradient = jax.grad(lambda w: (x @ w).sum())(jnp.ones((200, 300)))
        return ctx().all_reduce("sum", product).sum() + jax.jit(jnp.sum)(gradient)

    strategy.run(step)
    clock = strategy.extended.backend.clock

    # One product, and with its gradient two more: beside these there are only sums and copies.
    products = 3 * 2 * 100 * 200 * 300 / 1e12
    assert [pytest.approx(products, rel=0.1)] * 4 == clock.computing.tolist()
    assert len(set(clock.computing.tolist())) == 1


def test_computing_with_jax_on_other_devices_is_counted_there(strategy):
    def step():
        with tf.device("GPU:0"):
            return jnp.ones((100, 100)) @ jnp.ones((100, 100))

    strategy.run(step)
    clock = strategy.extended.backend.clock

    assert clock.computing[0] >= 4 * 2 * 100**3 / 1e12
    assert [0.0] * 3 == clock.computing[1:].tolist()


def test_jax_that_is_loaded_too_late_to_be_counted_is_mentioned():
    code = """
import refdist as tf, simulator, warnings
def step():
    import jax.numpy as jnp
    return jnp.ones(3) * 2
with tf.using("simulator", cluster=simulator.Cluster.star(2, 1e9, 0)), warnings.catch_warnings(record=True) as caught:
    tf.distribute.MirroredStrategy().run(step)
    tf.distribute.MirroredStrategy().run(step)
print([str(one.message)[:43] for one in caught])
"""
    done = run_python(code)

    assert "" == done.stderr
    assert "['JAX was imported while a replica ran; expec']" == done.stdout.strip()


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
