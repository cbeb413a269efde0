import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as generators

import refdist as tf
from refdist._core.input.ledger_findings import shortened

pytestmark = pytest.mark.filterwarnings(
    "ignore:Replica.*got no rows:RuntimeWarning"
)  # batches that do not divide, on purpose


def findings(data, *, gpus=2, epochs=1, key=int, **asked):
    with tf.using("simulator", gpus=gpus), tf.simulator.ledger(key=key) as ledger:
        strategy = tf.distribute.MirroredStrategy()
        for _ in range(epochs):
            for _ in strategy.experimental_distribute_dataset(data):
                pass
    return ledger.findings(**asked)


@given(
    samples=generators.lists(generators.integers(0, 9), min_size=1, max_size=20),
    gpus=generators.integers(1, 4),
    batch=generators.integers(1, 6),
)
def test_exactly_the_samples_that_come_twice_or_never_are_named(samples, gpus, batch):
    data = tf.data.Dataset.from_tensor_slices(samples).batch(batch)

    found = {one.kind: one for one in findings(data, gpus=gpus, each_once=True, expected=range(10))}

    # Two replicas that get a sample in one step are told as an overlap, which one finding names.
    told = {key for kind in ("twice", "overlap") if kind in found for key in found[kind].samples}
    twice = {one for one in samples if samples.count(one) > 1}
    assert bool(twice) == bool(told)
    assert told <= twice
    assert ({*range(10)} - {*samples}) == set(found["never"].samples if "never" in found else ())


@pytest.mark.parametrize(
    ("gpus", "batch", "idle"), [(4, 6, (3,)), (4, 5, (3,)), (4, 8, ()), (4, 7, ()), (8, 9, (5, 6, 7))]
)
def test_a_replica_that_never_gets_data_is_idle(gpus, batch, idle):
    found = findings(tf.data.Dataset.range(batch * 3).batch(batch), gpus=gpus, key=None)

    assert idle == tuple(index for one in found for index in one.replicas)


def test_an_uneven_last_batch_alone_makes_nobody_idle():
    assert () == findings(tf.data.Dataset.range(5).batch(4))


def test_a_shuffle_that_shuffles_anew_has_no_finding():
    assert () == findings(tf.data.Dataset.range(8).shuffle(8, seed=1).batch(4), epochs=3)
    assert () == findings(tf.data.Dataset.range(8).batch(4), epochs=3)
    (found,) = findings(tf.data.Dataset.range(8).batch(4), epochs=3, shuffled=True)
    assert "same_order" == found.kind


def test_reading_a_dataset_again_for_a_check_changes_no_order():
    orders = []
    for check in (False, True):
        data = tf.data.Dataset.range(8).shuffle(8, seed=1).batch(4)
        with tf.using("simulator", gpus=2), tf.simulator.ledger(key=int) as ledger:
            distributed = tf.distribute.MirroredStrategy().experimental_distribute_dataset(data)
            list(distributed)
            if check:
                ledger.check(each_once=True)
            list(distributed)
        orders.append([one.keys for one in ledger.deliveries])

    assert orders[0] == orders[1]


def test_findings_are_values():
    first, second = (findings(tf.data.Dataset.range(12).batch(6), gpus=4)[0] for _ in range(2))

    assert first == second
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.kind = "other"


def test_long_lists_are_shortened():
    assert "0 1" == shortened(range(2))
    assert "0 1 ... (9)" == shortened(range(9), 2)
