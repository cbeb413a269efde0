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
    with tf.using("host", gpus=3):
        assert {"GPU": 3} == simple.num_accelerators()
    for wrong in (lambda: spec.num_tasks("chief"), lambda: spec.task_address("ps", 1)):
        with pytest.raises(ValueError, match="expected"):
            wrong()
    with pytest.raises(TypeError, match="ClusterSpec"):
        resolvers.SimpleClusterResolver({"worker": []})
