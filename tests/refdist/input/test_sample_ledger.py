import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as generators

import refdist as tf
from tests.refdist import servers

pytestmark = pytest.mark.filterwarnings(
    "ignore:Replica.*got no rows:RuntimeWarning"
)  # batches that do not divide, on purpose

ledger, LedgerError = tf.simulator.ledger, tf.simulator.LedgerError


def kinds(record, **asked):
    return [one.kind for one in record.findings(**asked)]


@given(
    n=generators.integers(0, 30),
    batch=generators.integers(1, 8),
    count=generators.integers(1, 5),
    dealt=generators.booleans(),
)
def test_every_sample_is_delivered_to_one_replica_and_the_ledger_knows_to_which(n, batch, count, dealt):
    with tf.using("simulator", gpus=count), ledger(key=int) as record:
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
            assert part.tolist() == list(delivery.samples) == list(delivery.keys)
            assert part.device == delivery.device
    assert all(1 == len(list(record.replicas_of(sample))) for sample in range(n))
    assert {"idle"} >= set(kinds(record, each_once=True, expected=range(n)))


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
    assert [0, 0, 1, 1] == [one.epoch for one in record.deliveries]


def test_every_backend_has_a_ledger(any_backend, names):
    with ledger(key=lambda sample: sample["id"]) as record:
        strategy = tf.distribute.MirroredStrategy(names[:2])
        data = tf.data.Dataset.from_tensor_slices({"id": [3, 4, 5, 6], "x": np.zeros([4, 2], np.float32)}).batch(4)
        for _ in strategy.experimental_distribute_dataset(data):
            pass

    assert [(3, 4), (5, 6)] == [one.keys for one in record.deliveries]
    record.check(each_once=True, even=True, global_batch=4)


@pytest.mark.parametrize("staged", [False, True])
def test_next_in_a_function_counts_once(staged):
    with tf.using("simulator", gpus=2), ledger(key=int) as record:
        strategy = tf.distribute.MirroredStrategy()
        iterator = iter(strategy.experimental_distribute_dataset(tf.data.Dataset.range(8).batch(4)))

        def step(iterator):
            return strategy.run(lambda x: tf.reduce_sum(x), args=(next(iterator),))

        step = tf.function(step) if staged else step
        step(iterator)
        step(iterator)

    record.check(each_once=True)
    assert 4 == len(record.deliveries)


def test_plain_iterables_have_samples_too():
    with tf.using("simulator", gpus=2), ledger(key=int) as record:
        strategy = tf.distribute.MirroredStrategy()
        for _ in strategy.experimental_distribute_dataset([np.array([1, 2]), np.array([3, 1])]):
            pass

    (finding,) = record.findings(each_once=True)
    assert ("twice", (1,), (0, 1), (0, 1)) == (finding.kind, finding.samples, finding.replicas, finding.steps)


def test_an_element_without_a_dimension_of_samples_is_a_sample():
    with tf.using("simulator", gpus=1), ledger(key=lambda sample: sample["id"]) as record:
        strategy = tf.distribute.OneDeviceStrategy("GPU:0")
        data = tf.data.Dataset.from_tensor_slices({"id": [1, 2], "x": np.zeros([2, 5])})
        list(strategy.experimental_distribute_dataset(data))

    assert [(1,), (2,)] == [one.keys for one in record.deliveries]


def test_elements_with_a_dimension_can_be_samples_if_the_user_says_so():
    with tf.using("simulator", gpus=1), ledger(key=lambda row: row.sum(), batched=False) as record:
        strategy = tf.distribute.OneDeviceStrategy("GPU:0")
        list(strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices([[1, 2], [3, 4]])))

    assert [(3,), (7,)] == [one.keys for one in record.deliveries]


def test_workers_are_told_apart():
    def program(worker):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        options = tf.data.Options()
        options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
        for _ in strategy.experimental_distribute_dataset(tf.data.Dataset.range(8).batch(4).with_options(options)):
            pass

    with tf.using("simulator", gpus=2), ledger(key=int) as record:
        tf.cluster.run_workers(program, 2)

    assert {(0, 0), (0, 1), (1, 2), (1, 3)} == {(one.worker, one.replica) for one in record.deliveries}
    record.check(each_once=True)


def test_workers_of_parameter_servers_are_told_apart_and_may_each_read_everything():
    with tf.using("simulator"), ledger(key=int) as record:
        strategy = servers.make()
        coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
        iterator = iter(coordinator.create_per_worker_dataset(lambda: tf.data.Dataset.range(4).batch(2)))

        @tf.function
        def step(iterator):
            return tf.reduce_sum(next(iterator))

        for _ in range(4):
            coordinator.schedule(step, args=(iterator,))
        coordinator.join()

    assert [(0, (0, 1)), (1, (0, 1)), (0, (2, 3)), (1, (2, 3))] == [(one.worker, one.keys) for one in record.deliveries]
    assert [] == kinds(record)
    assert ["twice"] == kinds(record, each_once=True)


def iterate(strategy, data, restart):
    """Two steps, a restart as given, and the rest."""
    distributed = strategy.experimental_distribute_dataset(data)
    iterator = iter(distributed)
    before = iterator.state()
    next(iterator)
    middle = iterator.state()
    next(iterator)
    after = iterator.state()
    resumed = iter(distributed)
    resumed.restore(
        {"right": after, "too early": middle, "too late": {**after, "consumed": 6}, "start": before}[restart]
    )
    for _ in resumed:
        pass


@pytest.mark.parametrize(
    ("restart", "expected"),
    [
        ("right", []),
        ("too early", [("repeated_over_restart", (2, 3))]),
        ("too late", [("lost_over_restart", (4, 5))]),
        ("start", [("repeated_over_restart", (0, 1, 2, 3))]),
    ],
)
def test_samples_that_a_restart_loses_or_repeats_are_named(restart, expected):
    with tf.using("simulator", gpus=2), ledger(key=int) as record:
        iterate(tf.distribute.MirroredStrategy(), tf.data.Dataset.range(10).batch(2), restart)

    assert expected == [(one.kind, one.samples) for one in record.findings(each_once=True)]


def test_a_checkpoint_resumes_the_epoch(tmp_path):
    with tf.using("simulator", gpus=2), ledger(key=int) as record:
        strategy = tf.distribute.MirroredStrategy()
        distributed = strategy.experimental_distribute_dataset(tf.data.Dataset.range(8).batch(2))
        iterator = iter(distributed)
        next(iterator)
        path = tf.train.Checkpoint(iterator=iterator).save(str(tmp_path / "saved"))
        resumed = iter(distributed)
        tf.train.Checkpoint(iterator=resumed).restore(path)
        list(resumed)

    record.check(each_once=True)


def test_repetition_in_the_pipeline_is_no_mistake():
    with tf.using("simulator", gpus=2), ledger(key=int) as record:
        strategy = tf.distribute.MirroredStrategy()
        list(strategy.experimental_distribute_dataset(tf.data.Dataset.range(4).repeat(2).batch(4)))
        endless = iter(strategy.experimental_distribute_dataset(tf.data.Dataset.range(4).repeat().batch(4)))
        for _ in range(3):
            next(endless)

    record.check(each_once=True)


def test_what_even_asks_for_is_asked_only_then():
    with tf.using("simulator", gpus=2), ledger() as record:
        strategy = tf.distribute.MirroredStrategy()
        list(strategy.experimental_distribute_dataset(tf.data.Dataset.range(9).batch(4)))
        list(strategy.experimental_distribute_dataset(tf.data.Dataset.range(7).batch(4)))

    record.check()
    empty, indivisible = record.findings(even=True)
    assert ("empty", (1,), (2,)) == (empty.kind, empty.replicas, empty.steps)
    assert "empty piece in step 2 of epoch 0" in empty.sentence
    assert ("indivisible", (1,)) == (indivisible.kind, indivisible.steps)


def test_the_error_lists_all_findings_and_has_them_as_values():
    with tf.using("simulator", gpus=4), ledger(key=int) as record:
        strategy = tf.distribute.MirroredStrategy()
        list(strategy.experimental_distribute_dataset(tf.data.Dataset.range(12).batch(6)))

    with pytest.raises(LedgerError, match=r"- Replica 3 got no sample in any of 2 steps .*test_sample_ledger.py:\d+"):
        record.check()
    with pytest.raises(AssertionError, match="nobody got 12") as caught:
        record.check(expected=range(13))
    assert ["idle", "never"] == [one.kind for one in caught.value.findings]


def test_what_needs_a_key_says_so():
    with tf.using("simulator", gpus=2), ledger() as record:
        pass

    with pytest.raises(ValueError, match="expected a key"):
        record.check(each_once=True)
    with pytest.raises(TypeError, match="expected a function of one sample"), ledger(key="id"):
        pass


def test_a_ledger_that_recorded_nothing_says_so():
    tf.use("simulator", gpus=2)
    strategy = tf.distribute.MirroredStrategy()
    distributed = strategy.experimental_distribute_dataset(tf.data.Dataset.range(4).batch(2))
    iterator = iter(distributed)
    with tf.simulator.ledger(key=int) as ledger:
        list(iterator)

    assert ["unrecorded"] == [finding.kind for finding in ledger.findings(each_once=True)]
    assert "made before the ledger was opened" in str(ledger.findings(expected=range(4))[0])
    assert () == ledger.findings() == ledger.findings(expected=())
