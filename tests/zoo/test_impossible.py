"""Real bugs that cannot happen here: the program of each simply works."""

import numpy as np
import pytest

import refdist as tf
from tests.zoo.ways import mirrored, number, replica

Resolver = tf.distribute.cluster_resolver.SimpleClusterResolver


def test_rng_state_of_rank_0_restored_everywhere(tmp_path):
    strategy = mirrored(3)
    with strategy.scope():
        generator = tf.random.Generator.from_seed(7)

    def draw():
        return [float(one) for one in strategy.experimental_local_results(strategy.run(lambda: generator.uniform([])))]

    draw()
    path = tf.train.Checkpoint(generator=generator).save(str(tmp_path / "check"))
    expected = draw()
    draw()
    tf.train.Checkpoint(generator=generator).restore(path).assert_consumed()

    assert expected == draw()
    assert 3 == len(set(expected))


def test_evaluator_listed_in_training_cluster():
    spec = tf.train.ClusterSpec({"chief": ["h0:1"], "worker": ["h1:1"], "evaluator": ["h2:1"]})

    def program(worker):
        job = ("chief", "worker")[worker]
        strategy = tf.distribute.MultiWorkerMirroredStrategy(Resolver(spec, task_type=job, task_id=0))
        return float(strategy.reduce("SUM", strategy.run(lambda: tf.constant(1.0)), axis=None))

    tf.use("simulator")
    assert [2.0, 2.0] == tf.cluster.run_workers(program, 2)


def test_a_listed_task_never_starts():
    spec = tf.train.ClusterSpec({"worker": ["h0:1", "h1:1", "h2:1"]})

    def program(worker):
        tf.distribute.MultiWorkerMirroredStrategy(Resolver(spec, task_type="worker", task_id=worker))

    tf.use("simulator")
    with pytest.raises(ValueError, match=r"lists 3 tasks .* and 2 workers run"):
        tf.cluster.run_workers(program, 2)


def test_unreduced_output_declared_replicated():
    strategy = mirrored(3)
    result = tf.function(lambda: strategy.run(number))()

    assert [0.0, 1.0, 2.0] == [float(one) for one in strategy.experimental_local_results(result)]
    with pytest.raises(TypeError, match="was used as one value"):
        float(result)


def _table(shards):
    tf.use("simulator")
    cluster = tf.train.ClusterSpec(
        {"chief": ["c:1"], "worker": ["w0:1"], "ps": [f"p{index}:1" for index in range(shards)]}
    )
    partitioner = tf.distribute.experimental.partitioners.FixedShardsPartitioner(shards)
    strategy = tf.distribute.ParameterServerStrategy(
        Resolver(cluster, task_type="chief", task_id=0), variable_partitioner=partitioner
    )
    with strategy.scope():
        return tf.Variable(tf.zeros([10, 2]))


@pytest.mark.parametrize("shards", [1, 3, 4])
def test_shards_of_other_world_size(tmp_path, shards):
    moments = _table(4)
    value = np.arange(20, dtype=np.float32).reshape(10, 2)
    moments.assign(value)
    path = tf.train.Checkpoint(moments=moments).save(str(tmp_path / "check"))

    restored = _table(shards)
    tf.train.Checkpoint(moments=restored).restore(path).assert_consumed()

    assert value.tolist() == restored.numpy().tolist()


@pytest.mark.parametrize("backend", ["simulator", "jax"])
def test_donated_buffer_used_again(backend):
    tf.use(backend, cpus=2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    state = strategy.run(lambda: tf.ones([4]))
    step = tf.function(lambda x: strategy.run(lambda own: own + 1.0, (x,)))

    new = step(step(state))

    assert (8.0, 24.0) == tuple(
        float(strategy.reduce("SUM", strategy.run(tf.reduce_sum, (one,)), axis=None)) for one in (state, new)
    )
    assert replica() is not None
