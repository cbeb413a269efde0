"""Ragged and sparse batches on replicas. All expected numbers are what TensorFlow 2.21 answers."""

import pytest

import refdist as tf

LISTS = [[1, 2], [], [3, 4, 5], [6]]
ROWS = "RaggedTensorSpec(TensorShape([None, None]), tf.int32, 1, tf.int64)"


@pytest.fixture
def strategy():
    with tf.using("simulator", cpus=2):
        yield tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def ragged(size):
    return tf.data.Dataset.from_tensor_slices(tf.ragged.constant(LISTS)).batch(size)


def sparse(size):
    given = tf.SparseTensor([[0, 1], [1, 0], [1, 2], [3, 1]], [1.0, 2.0, 3.0, 4.0], [4, 3])
    return tf.data.Dataset.from_tensor_slices(given).batch(size)


def test_each_replica_gets_its_rows(strategy):
    distributed = strategy.experimental_distribute_dataset(ragged(3))

    assert f"PerReplicaSpec({ROWS}, {ROWS})" == str(distributed.element_spec)
    found = [[rows.to_list() for rows in strategy.experimental_local_results(step)] for step in distributed]
    assert [[[[1, 2], []], [[3, 4, 5]]], [[[6]], []]] == found


def test_each_replica_gets_its_part_of_a_sparse_batch(strategy):
    (step,) = strategy.experimental_distribute_dataset(sparse(4))

    first, second = strategy.experimental_local_results(step)
    assert ([[0, 1], [1, 0], [1, 2]], [2, 3]) == (first.indices.tolist(), list(first.shape))
    assert ([[1, 1]], [4.0], [2, 3]) == (second.indices.tolist(), second.values.tolist(), list(second.shape))


def test_functions_on_datasets_give_each_replica_whole_ragged_batches(strategy):
    distributed = strategy.distribute_datasets_from_function(lambda _: ragged(3).take(1).repeat(3))

    assert f"PerReplicaSpec({ROWS}, {ROWS})" == str(distributed.element_spec)
    found = [[rows.to_list() for rows in strategy.experimental_local_results(step)] for step in distributed]
    assert [[LISTS[:3], LISTS[:3]], [LISTS[:3], []]] == found


def total(batch):
    return tf.reduce_sum(batch.values)


def summed(strategy, batch):
    return strategy.reduce("SUM", strategy.run(total, args=(batch,)), axis=None)


@pytest.mark.parametrize(("data", "sums"), [(ragged, [3, 18]), (sparse, [6.0, 4.0])])
def test_ragged_and_sparse_batches_are_arguments_of_replicas_and_functions(strategy, data, sums):
    distributed, staged = strategy.experimental_distribute_dataset(data(2)), tf.function(summed)

    assert sums == [float(summed(strategy, batch)) for batch in distributed]
    assert sums == [float(staged(strategy, batch)) for batch in distributed]


@pytest.mark.parametrize(("data", "sums"), [(ragged, [3, 18]), (sparse, [6.0, 4.0])])
def test_a_function_takes_ragged_and_sparse_batches_from_an_iterator(strategy, data, sums):
    iterator = iter(strategy.experimental_distribute_dataset(data(2)))
    step = tf.function(lambda elements: summed(strategy, next(elements)))

    assert sums == [float(step(iterator)), float(step(iterator))]
    plain = iter(data(2))
    alone = tf.function(lambda: total(next(plain)))
    assert sums == [float(alone()), float(alone())]
