import pytest

import refdist as tf
from refdist._core.backends import choosing

Resolver = tf.distribute.cluster_resolver.TPUClusterResolver


def test_a_resolver_stands_for_the_hosts_of_the_backend_in_use():
    with tf.using("simulator", tpus=16):
        resolver = Resolver(tpu="")
        assert {"worker": ["localhost:8470", "localhost:8471"]} == resolver.cluster_spec().as_dict()
        assert ("worker", 0, "grpc://localhost:8470") == (
            resolver.get_job_name(),
            resolver.task_id,
            resolver.get_master(),
        )
        assert {"TPU": 8} == resolver.num_accelerators()
    with tf.using("simulator", tpus=(1, 1, 1, 2)):
        assert {"TPU": 2} == resolver.num_accelerators()


def test_a_resolver_has_the_addresses_it_is_asked_for_by():
    resolver, pod = Resolver("grpc://1.2.3.4:8470"), Resolver("grpc://a:1,grpc://b:1")

    assert ({"worker": ["1.2.3.4:8470"]}, "grpc://1.2.3.4:8470") == (
        resolver.cluster_spec().as_dict(),
        resolver.master(),
    )
    assert ("grpc://a:1", "grpc://b:1") == (pod.get_master(), pod.master("worker", 1))
    with pytest.raises(ValueError, match="expected 0 to 0"):
        resolver.master("worker", 1)


def test_the_local_system_has_no_cluster():
    assert not Resolver("local").cluster_spec()
    assert "" == Resolver("local").master()


def test_a_coordinator_is_part_of_the_cluster():
    with tf.using("simulator", tpus=2):
        resolver = Resolver("name", coordinator_name="coordinator", coordinator_address="localhost:1", job_name="tpus")

        assert {"tpus": ["localhost:8470"], "coordinator": ["localhost:1"]} == resolver.cluster_spec().as_dict()


def test_a_name_that_is_none_is_refused():
    with pytest.raises(TypeError, match="name of a TPU system"):
        Resolver(["a", "b"])


@pytest.mark.parametrize(
    ("tpus", "shape", "hosts"),
    [
        (1, [1, 1, 1, 1], 1),
        (2, [1, 1, 1, 2], 1),
        (4, [1, 1, 2, 2], 1),
        (8, [1, 2, 2, 2], 1),
        (16, [2, 2, 2, 2], 2),
        (32, [4, 2, 2, 2], 4),
        (3, [3, 1, 1, 1], 1),
        ((4, 1, 1, 1), [4, 1, 1, 1], 1),
    ],
)
def test_initializing_tells_how_the_cores_are_arranged(tpus, shape, hosts):
    with tf.using("simulator", tpus=tpus):
        topology = tf.tpu.experimental.initialize_tpu_system(Resolver())

    assert (shape, hosts) == (topology.mesh_shape.tolist(), topology.num_tasks)


def test_on_jax_the_processors_play_the_cores():
    with tf.using("jax", cpus=8):
        assert [1, 2, 2, 2] == tf.tpu.experimental.initialize_tpu_system().mesh_shape.tolist()


def test_connecting_and_shutting_down_do_nothing():
    with tf.using("simulator", tpus=2):
        resolver = Resolver.connect("")
        tf.config.experimental_connect_to_cluster(resolver)
        tf.config.experimental_connect_to_cluster(tf.train.ClusterSpec({}))
        tf.tpu.experimental.shutdown_tpu_system(resolver)

        assert 2 == tf.distribute.TPUStrategy(resolver).num_replicas_in_sync


def test_without_a_tpu_everything_says_how_to_get_one():
    calls = [
        tf.distribute.TPUStrategy,
        tf.distribute.experimental.TPUStrategy,
        tf.compat.v1.distribute.experimental.TPUStrategy,
        tf.tpu.experimental.initialize_tpu_system,
        tf.tpu.experimental.shutdown_tpu_system,
        Resolver("some name").cluster_spec,
        Resolver("some name").num_accelerators,
    ]
    with tf.using("simulator", gpus=2):
        for call in calls:
            with pytest.raises(tf.errors.NotFoundError, match=r'refdist.use\("simulator", tpus=8\)'):
                call()


def test_without_a_tpu_and_a_name_programs_can_choose_other_devices(monkeypatch):
    monkeypatch.setattr(choosing, "_used", False)
    monkeypatch.setattr(choosing, "_virtual_cpus", None)
    for given in ({}, {"tpu": ""}, {"tpu": None}):
        with pytest.raises(ValueError, match=r'refdist.use\("simulator", tpus=8\)'):
            Resolver(**given)
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)  # not too late

    assert 2 == len(tf.config.list_logical_devices("CPU"))


def test_another_resolver_is_refused():
    other = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    with tf.using("simulator", tpus=2):
        for call in (tf.tpu.experimental.initialize_tpu_system, tf.tpu.experimental.shutdown_tpu_system):
            with pytest.raises(TypeError, match="TPUClusterResolver"):
                call(other)
        with pytest.raises(TypeError, match="TPUClusterResolver"):
            tf.distribute.TPUStrategy(other)


def test_connecting_to_no_cluster_is_refused():
    with pytest.raises(ValueError, match="ClusterSpec or a ClusterResolver"):
        tf.config.experimental_connect_to_cluster("localhost")


def test_cores_of_other_hosts_are_no_physical_devices_of_this_machine():
    with tf.using("simulator", tpus=16):
        assert [] == tf.config.list_physical_devices("TPU")
        assert "/job:worker/replica:0/task:1/device:TPU:7" == tf.config.list_logical_devices("TPU")[-1].name
    with tf.using("simulator", tpus=1):
        assert ["/physical_device:TPU:0"] == [device.name for device in tf.config.list_physical_devices("TPU")]
        assert ["/device:TPU:0"] == [device.name for device in tf.config.list_logical_devices("TPU")]
