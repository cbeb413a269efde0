import pytest

import refdist as tf

Server = tf.distribute.Server
CLUSTER = {"worker": ["localhost:1", "localhost:2"], "ps": ["localhost:3"]}


def test_a_server_is_a_task_at_its_address():
    server = Server(tf.train.ClusterSpec(CLUSTER), job_name="worker", task_index=1, protocol="grpc")
    server.start()

    assert "grpc://localhost:2" == server.target
    assert {"cluster": CLUSTER, "job_name": "worker", "task_index": 1} == server.server_def


def test_the_only_task_need_not_be_named():
    assert ("local", 0) == tuple(Server.create_local_server().server_def[key] for key in ("job_name", "task_index"))


@pytest.mark.parametrize(("job", "index"), [("worker", 2), ("chief", 0), ("worker", None), (None, 0)])
def test_a_task_that_is_not_in_the_cluster_is_refused(job, index):
    with pytest.raises(ValueError, match=f"job_name={job!r} and task_index={index}"):
        Server(CLUSTER, job_name=job, task_index=index)


def test_a_server_does_not_wait_for_ever():
    with pytest.raises(RuntimeError, match="run the program of the coordinator only"):
        Server(CLUSTER, job_name="ps", task_index=0).join()
