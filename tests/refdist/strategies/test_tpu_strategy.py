import numpy as np
import pytest

import refdist as tf
from refdist._core.devices.tpu_topology import DeviceAssignment
from refdist._core.variables.placement import Placement

initialize = tf.tpu.experimental.initialize_tpu_system


def strategy(shape=None, replicas=1, **options):
    assignment = DeviceAssignment.build(initialize(), shape, num_replicas=replicas)
    return tf.distribute.TPUStrategy(experimental_device_assignment=assignment, **options)


@pytest.fixture(params=["host", "simulator", "jax"])
def eight_cores(request):
    with tf.using(request.param, **({"cpus": 8} if request.param == "jax" else {"tpus": 8})) as backend:
        yield backend


def test_without_an_assignment_every_core_is_a_replica(eight_cores):
    plan = tf.distribute.TPUStrategy().extended.plan

    assert (8, "tpu", Placement.MIRRORED, True) == (plan.replicas, plan.name, plan.placement, plan.traces_once)
    assert tuple((device,) for device in plan.devices) == plan.logical
    assert plan.devices == plan.homes


def test_a_replica_computes_on_its_first_core_and_keeps_its_variables_there(eight_cores):
    four = strategy([1, 1, 1, 2], replicas=4)
    with four.scope():
        variable = tf.Variable(1.0)
    four.run(lambda: variable.assign_add(tf.constant(2.0)))

    first = [cores[0] for cores in four.extended.plan.logical]
    assert first == list(four.extended.worker_devices) == list(four.extended.parameter_devices)
    assert first == [copy.device for copy in four.experimental_local_results(variable)]
    assert 9.0 == float(four.reduce("SUM", four.run(lambda: variable * 0.75), axis=None))


def test_results_arrive_at_the_first_host():
    with tf.using("simulator", tpus=16):
        both = tf.distribute.TPUStrategy()
        total = both.reduce("SUM", both.run(lambda: tf.constant(1.0)), axis=None)

    assert ("/job:worker/replica:0/task:0/device:CPU:0", 16) == (total.device, total)
    assert "/job:worker/replica:0/task:1/device:TPU:7" == both.extended.worker_devices[-1]


def test_data_is_dealt_to_the_replicas(eight_cores):
    four = strategy([1, 1, 1, 2], replicas=4)
    batch = next(iter(four.experimental_distribute_dataset(tf.data.Dataset.range(8).batch(8))))

    assert [[0, 1], [2, 3], [4, 5], [6, 7]] == [np.asarray(part).tolist() for part in batch.values]


def test_the_resolver_is_the_given_one_or_one_of_its_own(eight_cores):
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="")
    for kind in (tf.distribute.TPUStrategy, tf.distribute.experimental.TPUStrategy):
        assert resolver is kind(resolver).cluster_resolver
        assert isinstance(kind().cluster_resolver, tf.distribute.cluster_resolver.TPUClusterResolver)


def test_the_older_names_have_their_own_words():
    with tf.using("simulator", tpus=8):
        assignment = DeviceAssignment.build(initialize(), [1, 1, 1, 2], num_replicas=3)
        older = tf.distribute.experimental.TPUStrategy(device_assignment=assignment)
        v1 = tf.compat.v1.distribute.experimental.TPUStrategy(steps_per_run=5, device_assignment=assignment)

        assert (3, 3) == (older.num_replicas_in_sync, v1.num_replicas_in_sync)
        assert (5, 1) == (v1.steps_per_run, tf.compat.v1.distribute.experimental.TPUStrategy().steps_per_run)
        assert not hasattr(v1, "experimental_assign_to_logical_device")


def test_an_assignment_of_another_mesh_is_refused():
    with tf.using("simulator", tpus=4):
        assignment = DeviceAssignment.build(initialize())
    with tf.using("simulator", tpus=8), pytest.raises(ValueError, match=r"\(1, 1, 2, 2\).*\(1, 2, 2, 2\)"):
        tf.distribute.TPUStrategy(experimental_device_assignment=assignment)


def test_an_assignment_that_uses_a_core_twice_or_none_is_refused():
    with tf.using("simulator", tpus=2):
        for cores, message in ((np.zeros((2, 1, 4)), "TPU:0 more than once"), (np.zeros((0, 1, 4)), "no core")):
            assignment = DeviceAssignment(initialize(), cores)
            with pytest.raises(ValueError, match=message):
                tf.distribute.TPUStrategy(experimental_device_assignment=assignment)


def test_what_is_no_assignment_is_refused():
    with tf.using("simulator", tpus=2), pytest.raises(TypeError, match="got a list"):
        tf.distribute.TPUStrategy(experimental_device_assignment=[[0]])


def test_a_resolver_of_another_job_is_refused():
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="local", job_name="other")
    with tf.using("simulator", tpus=16), pytest.raises(ValueError, match=r"'other'.*'worker'"):
        tf.distribute.TPUStrategy(resolver)
    with tf.using("simulator", tpus=8):
        assert 8 == tf.distribute.TPUStrategy(resolver).num_replicas_in_sync
