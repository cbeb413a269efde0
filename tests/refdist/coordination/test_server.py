"""A server knows who it is, as in TensorFlow 2.21."""

import pytest

import refdist as tf

CLUSTER = {"worker": ["localhost:1", "localhost:2"], "ps": ["localhost:3"]}


def test_a_server_knows_its_task():
    server = tf.distribute.Server(tf.train.ClusterSpec(CLUSTER), job_name="worker", task_index=1, protocol="grpc+verbs")
    server.start()

    assert "grpc+verbs://localhost:2" == server.target
    assert ("worker", 1, "grpc+verbs") == (
        server.server_def.job_name,
        server.server_def.task_index,
        server.server_def.protocol,
    )
    assert [("ps", {0: "localhost:3"}), ("worker", {0: "localhost:1", 1: "localhost:2"})] == [
        (job.name, dict(job.tasks)) for job in server.server_def.cluster.job
    ]


def test_a_server_is_made_of_the_messages_of_another():
    first = tf.distribute.Server(CLUSTER, "ps", 0)

    assert first.server_def == tf.distribute.Server(first.server_def).server_def
    assert "grpc://localhost:2" == tf.distribute.Server(first.server_def.cluster, "worker", 1).target
    assert "localhost" == tf.distribute.Server.create_local_server().server_def.job_name


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({}, ValueError),
        ({"job_name": "x"}, tf.errors.InternalError),
        ({"job_name": "ps", "task_index": 5}, tf.errors.InternalError),
    ],
)
def test_a_task_is_one_of_the_cluster(given, error):
    with pytest.raises(error):
        tf.distribute.Server(CLUSTER, **given)


def test_nobody_waits_for_work_that_nobody_sends():
    with pytest.raises(RuntimeError, match="chief only"):
        tf.distribute.Server(CLUSTER, "ps", 0).join()
