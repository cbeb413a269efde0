import json

import pytest

import refdist as tf

resolvers = tf.distribute.cluster_resolver


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[1]",
        '{"task": 3}',
        '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 4}}',
        '{"cluster": {"worker": ["a:1"]}, "task": {"type": "chief", "index": 0}}',
        '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": "x"}}',
    ],
)
def test_a_malformed_tf_config_is_refused(monkeypatch, text):
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(ValueError, match="expected"):
        resolvers.TFConfigClusterResolver()


def test_resolvers_tell_addresses():
    spec = tf.train.ClusterSpec({"worker": ["a:1", "b:2"], "ps": {0: "c:3"}})
    simple = resolvers.SimpleClusterResolver(spec, task_type="worker", task_id=1, rpc_layer="grpc")

    assert ("grpc://b:2", "grpc://c:3") == (simple.master(), simple.master("ps", 0))
    assert "here" == resolvers.SimpleClusterResolver(spec, master="here").master()
    assert "" == resolvers.SimpleClusterResolver(spec).master()
    assert (["worker", "ps"], 2, spec) == (spec.jobs, spec.num_tasks("worker"), tf.train.ClusterSpec(spec))
    for wrong in (lambda: spec.num_tasks("chief"), lambda: spec.task_address("ps", 1)):
        with pytest.raises(ValueError, match="expected"):
            wrong()
    with pytest.raises(TypeError, match="ClusterSpec"):
        resolvers.SimpleClusterResolver({"worker": []})


def configured(monkeypatch, **config):
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    return resolvers.TFConfigClusterResolver()


WORKERS = {"worker": ["a:1", "b:1"]}


@pytest.mark.parametrize("index", [1, "1"])
def test_the_index_of_a_task_may_be_text(monkeypatch, index):
    resolver = configured(monkeypatch, cluster=WORKERS, task={"type": "worker", "index": index})

    assert ("worker", 1, "b:1") == (resolver.task_type, resolver.task_id, resolver.master())
    assert 0 == resolvers.TFConfigClusterResolver(task_id="0").task_id


def test_the_type_of_a_task_may_be_a_number(monkeypatch):
    resolver = configured(monkeypatch, cluster={"1": ["a:1", "b:1"]}, task={"type": 1, "index": 0})

    assert ("1", "a:1") == (resolver.task_type, resolver.master())


def test_the_session_master_is_the_master(monkeypatch):
    task = {"type": "worker", "index": 1}
    resolver = configured(monkeypatch, session_master="x:1", cluster=WORKERS, task=task, rpc_layer="grpc")

    assert ("x:1", "x:1") == (resolver.master(), resolver.master("worker", 0))
    assert "grpc" == resolver.rpc_layer
    assert "grpc://x:1" == configured(monkeypatch, session_master="grpc://x:1").master()


def test_the_layer_of_tf_config_is_in_the_address(monkeypatch):
    resolver = configured(monkeypatch, cluster=WORKERS, task={"type": "worker", "index": 1}, rpc_layer="grpc")

    assert ("grpc://b:1", "http://a:1") == (resolver.master(), resolver.master("worker", 0, "http"))


def test_a_task_that_is_alone_has_no_master(monkeypatch):
    resolver = configured(monkeypatch, cluster={"worker": ["a:1"]}, task={"type": "worker", "index": 0})

    assert ("", "") == (resolver.master(), configured(monkeypatch).master())


def test_the_environment_is_what_the_argument_says(monkeypatch):
    assert configured(monkeypatch, environment="cloud").environment is None
    assert "here" == resolvers.TFConfigClusterResolver(environment="here").environment


def test_tf_config_may_leave_indices_out(monkeypatch):
    cluster = {"worker": {"1": "a:1", "3": "b:1"}}
    resolver = configured(monkeypatch, cluster=cluster, task={"type": "worker", "index": 3})

    assert ("b:1", "a:1") == (resolver.master(), resolver.master("worker", 1))
    strategy = tf.distribute.MultiWorkerMirroredStrategy(resolver)
    assert (2, 1) == (strategy.num_replicas_in_sync, strategy.extended.plan.worker)


def test_a_simple_resolver_puts_the_layer_before_its_master():
    spec = tf.train.ClusterSpec(WORKERS)

    assert "grpc://m:1" == resolvers.SimpleClusterResolver(spec, master="m:1", rpc_layer="grpc").master()


def test_a_simple_resolver_has_the_accelerators_it_is_told():
    spec = tf.train.ClusterSpec({})
    with tf.using("host", gpus=3):
        assert {} == resolvers.SimpleClusterResolver(spec).num_accelerators()
        assert {"GPU": 2} == resolvers.SimpleClusterResolver(spec, num_accelerators={"GPU": 2}).num_accelerators()


@pytest.mark.parametrize(
    ("accelerators", "devices"),
    [({"GPU": 2}, ["GPU:0", "GPU:1"]), ({"GPU": 0}, ["CPU:0"]), (None, ["CPU:0"]), ({"TPU": 1}, ["TPU:0"])],
)
@pytest.mark.parametrize("jobs", [{}, WORKERS])
def test_the_accelerators_of_a_resolver_are_those_of_each_worker(jobs, accelerators, devices):
    with tf.using("host", cpus=2, gpus=4, tpus=2):
        resolver = resolvers.SimpleClusterResolver(
            tf.train.ClusterSpec(jobs), task_type="worker", task_id=1, num_accelerators=accelerators
        )
        strategy = tf.distribute.MultiWorkerMirroredStrategy(resolver)

        assert devices == [device.short for device in strategy.extended.plan.devices]
        assert len(devices) * (2 if jobs else 1) == strategy.num_replicas_in_sync


def test_more_accelerators_than_there_are_is_an_error():
    resolver = resolvers.SimpleClusterResolver(tf.train.ClusterSpec({}), num_accelerators={"GPU": 3})
    with tf.using("host", gpus=2), pytest.raises(ValueError, match="GPU:2"):
        tf.distribute.MultiWorkerMirroredStrategy(resolver)


def test_parameter_servers_may_leave_indices_out():
    spec = tf.train.ClusterSpec({"worker": {2: "w:1"}, "ps": {1: "p:1", 4: "p:2"}})
    with tf.using("host"):
        strategy = tf.distribute.ParameterServerStrategy(resolvers.SimpleClusterResolver(spec))
        with strategy.scope():
            made = [tf.Variable(1.0).device for _ in range(2)]

    assert [f"/job:ps/replica:0/task:{task}/device:CPU:0" for task in (1, 4)] == made


def simple(jobs, **kwargs):
    return resolvers.SimpleClusterResolver(tf.train.ClusterSpec(jobs), **kwargs)


def test_a_union_has_the_jobs_of_all_and_the_task_of_the_first():
    first = simple(
        WORKERS,
        master="m",
        task_type="worker",
        task_id=0,
        rpc_layer="grpc",
        environment="e",
        num_accelerators={"GPU": 2},
    )
    union = resolvers.UnionResolver(first, simple({"ps": ["p:1"], "worker": ["c:1"]}))

    assert {"worker": ["a:1", "b:1", "c:1"], "ps": ["p:1"]} == union.cluster_spec().as_dict()
    assert ("worker", 0, "grpc", "e") == (union.task_type, union.task_id, union.rpc_layer, union.environment)
    assert ("grpc://m", {"GPU": 2}) == (union.master(), union.num_accelerators())
    assert "http://p:1" == union.master("ps", 0, "http")
    other = resolvers.UnionResolver(first, task_type="ps", task_id=1, rpc_layer="http")
    assert ("ps", 1, "http") == (other.task_type, other.task_id, other.rpc_layer)


def test_a_union_keeps_indices_that_are_left_out():
    union = resolvers.UnionResolver(simple(WORKERS), simple({"worker": {5: "c:1"}}))

    assert {"worker": {0: "a:1", 1: "b:1", 5: "c:1"}} == union.cluster_spec().as_dict()
    with pytest.raises(KeyError, match="expected each index once"):
        resolvers.UnionResolver(simple({"worker": {1: "a:1"}}), simple({"worker": {1: "b:1"}})).cluster_spec()


def test_a_union_is_of_resolvers():
    with pytest.raises(TypeError, match="Pass resolvers only"):
        resolvers.UnionResolver(simple(WORKERS), 3)
    with pytest.raises(ValueError, match="at least one resolver"):
        resolvers.UnionResolver()
    with pytest.raises(ValueError, match="'job'"):
        resolvers.UnionResolver(simple(WORKERS), job="worker")
