import pytest
from hypothesis import given
from hypothesis import strategies as generators

import refdist as tf
from simulator import ledger


@given(
    n=generators.integers(0, 30),
    batch=generators.integers(1, 8),
    count=generators.integers(1, 5),
    dealt=generators.booleans(),
)
def test_every_sample_is_delivered_to_one_replica_and_the_ledger_knows_to_which(n, batch, count, dealt):
    with tf.using("simulator", gpus=count), ledger() as record:
        strategy = tf.distribute.MirroredStrategy()
        data = tf.data.Dataset.range(n).batch(batch)
        if dealt:
            distributed = strategy.distribute_datasets_from_function(lambda given: data)
        else:
            distributed = strategy.experimental_distribute_dataset(data)
        got = [strategy.experimental_local_results(element) for element in distributed]

    for step, parts in enumerate(got):
        for replica, part in enumerate(parts):
            (delivery,) = [one for one in record.deliveries if (one.step, one.replica) == (step, replica)]
            assert part.tolist() == list(delivery.samples)
            assert part.device == delivery.device
    assert all(1 == len(list(record.replicas_of(sample))) for sample in range(n))


def test_loops_are_told_apart_and_nothing_is_recorded_outside():
    with tf.using("simulator", gpus=2):
        distributed = tf.distribute.MirroredStrategy().experimental_distribute_dataset(
            tf.data.Dataset.range(2).batch(2)
        )
        list(distributed)
        with ledger() as record:
            list(distributed)
            list(distributed)

    assert [(0, 0), (0, 1), (1, 0), (1, 1)] == [(one.loop, one.replica) for one in record.deliveries]


def test_other_backends_keep_no_ledger():
    with tf.using("host"), pytest.raises(TypeError, match="expected the simulator"), ledger():
        pass
