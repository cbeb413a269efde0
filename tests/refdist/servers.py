"""What the tests of parameter servers share: clusters, and backends to play them."""

import pytest

import refdist as tf

resolvers = tf.distribute.cluster_resolver
partitioners = tf.distribute.experimental.partitioners


def resolver(task_type="chief", **counts):
    """A resolver of a cluster with so many tasks of each job."""
    jobs = {job: [f"{job}{index}:1" for index in range(count)] for job, count in counts.items()}
    return resolvers.SimpleClusterResolver(tf.train.ClusterSpec(jobs), task_type=task_type, task_id=0)


def make(ps=2, workers=2, partitioner=None):
    """A strategy with so many servers and workers."""
    return tf.distribute.ParameterServerStrategy(resolver(chief=1, worker=workers, ps=ps), partitioner)


def server(index):
    return f"/job:ps/replica:0/task:{index}/device:CPU:0"


@pytest.fixture(params=["host", "simulator", "jax"])
def backend(request):
    with tf.using(request.param, **({"cpus": 4} if request.param == "jax" else {"gpus": 2})) as chosen:
        yield chosen
