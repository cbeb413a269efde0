"""Slices written into variables; the numbers are those of TensorFlow 2.21."""

import numpy as np
import pytest

import refdist as tf

ctx = tf.distribute.get_replica_context
FIRST, MEAN, NONE, SUM = (
    getattr(tf.VariableAggregation, name) for name in ("ONLY_FIRST_REPLICA", "MEAN", "NONE", "SUM")
)
EXPECTED = {
    "scatter_add": [-5, 2, 4, 17],
    "scatter_sub": [-9, 2, 4, 1],
    "scatter_mul": [-14, 2, 4, 135],
    "scatter_div": [-3, 2, 4, 0],  # integers are rounded towards zero
    "scatter_min": [-7, 2, 4, 3],
    "scatter_max": [2, 2, 4, 9],
}


@pytest.fixture
def strategy():
    with tf.using("simulator", gpus=2):
        yield tf.distribute.MirroredStrategy()


def in_scope(strategy, *args, **kwargs):
    with strategy.scope():
        return tf.Variable(*args, **kwargs)


@pytest.mark.parametrize("verb", EXPECTED)
@pytest.mark.parametrize("staged", [False, True])
def test_an_index_that_occurs_twice_counts_twice_in_every_copy(strategy, verb, staged):
    variable = in_scope(strategy, [-7, 2, 4, 9], aggregation=FIRST)

    def body():
        return getattr(variable, verb)(tf.IndexedSlices(tf.constant([2, 5, 3]), tf.constant([0, 3, 3])))

    strategy.run(tf.function(body) if staged else body)

    assert [EXPECTED[verb]] * 2 == [copy.numpy().tolist() for copy in strategy.experimental_local_results(variable)]


def test_floats_are_divided_without_rounding(any_backend):
    variable = tf.Variable([-7.0, 9.0, np.inf])
    variable.scatter_div(tf.IndexedSlices([2.0, 4.0], [0, 1]))

    assert [-3.5, 2.25, np.inf] == variable.numpy().tolist()


def test_factors_of_replicas_are_averaged_and_divisors_summed_like_other_slices(strategy):
    factors = in_scope(strategy, [2.0, 1.0, 1.0], aggregation=MEAN)
    divisors = in_scope(strategy, [1, 6, 1], aggregation=SUM)

    def body():
        number = ctx().replica_id_in_sync_group
        factors.scatter_mul(tf.IndexedSlices(tf.constant([number + 2.0]), tf.constant([number])))
        divisors.scatter_div(tf.IndexedSlices(tf.constant([number + 2]), tf.constant([number])))

    strategy.run(body)

    assert ([2.0, 1.5, 1.0], [0, 2, 1]) == (factors.numpy().tolist(), divisors.numpy().tolist())


@pytest.mark.parametrize("verb", ["scatter_min", "scatter_max", "scatter_update"])
@pytest.mark.parametrize("aggregation", [MEAN, SUM])
def test_slices_that_replace_each_other_are_not_combined(strategy, verb, aggregation):
    variable = in_scope(strategy, [0.0, 2.0], aggregation=aggregation)

    with pytest.raises(NotImplementedError, match=rf"{verb}\(\).*ONLY_FIRST_REPLICA or NONE"):
        strategy.run(lambda: getattr(variable, verb)(tf.IndexedSlices([1.0], [1])))


def test_shards_are_written_where_their_rows_are():
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec({"worker": ["a:1"], "ps": ["b:1", "c:1"]})
    )
    partitioner = tf.distribute.experimental.partitioners.FixedShardsPartitioner(2)
    with tf.using("simulator"), tf.distribute.ParameterServerStrategy(resolver, partitioner).scope():
        variable = tf.Variable([4, 6, 8, 9])
        tf.function(lambda i: variable.scatter_div(tf.IndexedSlices(tf.constant([2, 3]), i)))(tf.constant([0, 3]))

    assert [2, 6, 8, 3] == variable.numpy().tolist()
