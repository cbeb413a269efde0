"""The v1 flavor: the same strategies, with the six methods that v2 has not."""

import numpy as np
import pytest

import refdist as tf
from refdist._core.clusters.workers import run_workers

v1 = tf.compat.v1
ctx = tf.distribute.get_replica_context


@pytest.fixture(params=["mirrored", "central", "one device"])
def strategy(request, any_backend, names):
    return {
        "mirrored": lambda: v1.distribute.MirroredStrategy(names[:2]),
        "central": lambda: v1.distribute.experimental.CentralStorageStrategy(names[:2], names[3]),
        "one device": lambda: v1.distribute.OneDeviceStrategy(names[0]),
    }[request.param]()


def parts(strategy, value):
    return [np.asarray(part).tolist() for part in strategy.experimental_local_results(value)]


def mirrored(count):
    with tf.using("host", gpus=count):
        return v1.distribute.MirroredStrategy()


def test_a_strategy_of_v1_runs_reduces_and_makes_variables(strategy):
    with strategy.scope():
        variable = tf.Variable(1.0, aggregation=tf.VariableAggregation.MEAN)
    value = strategy.run(lambda: variable.assign_add(tf.constant(2.0)) + 0.0)

    assert 3.0 * strategy.num_replicas_in_sync == float(strategy.reduce("SUM", value))
    assert 3.0 == float(strategy.reduce("MEAN", value, axis=None))


def test_a_reduction_needs_no_axis(strategy):
    value = strategy.run(lambda: tf.constant([1.0, 3.0]))

    assert [1.0, 3.0] == np.asarray(strategy.reduce("MEAN", value)).tolist()
    assert 2.0 == float(strategy.reduce("MEAN", value, axis=0))


def test_rows_of_arrays_are_a_dataset(strategy):
    dataset = strategy.experimental_make_numpy_dataset((np.arange(3), {"a": np.ones((3, 2))}))

    assert [0, 1, 2] == [int(x) for x, _ in dataset]
    assert [(2,)] * 3 == [row["a"].shape for _, row in dataset]


def test_an_iterator_divides_each_batch_evenly(strategy):
    count = strategy.num_replicas_in_sync
    iterator = strategy.make_dataset_iterator(tf.data.Dataset.range(8).batch(4))
    iterator.initialize()
    first = strategy.experimental_run(lambda x: x, iterator) if count == 1 else iterator.get_next()

    rows = [[0, 1, 2, 3]] if count == 1 else [[0, 1], [2, 3]]
    assert rows == parts(strategy, first)


def test_an_input_function_gives_each_replica_a_whole_batch(strategy):
    iterator = strategy.make_input_fn_iterator(lambda _: tf.data.Dataset.range(8).batch(2))
    iterator.initialize()

    assert [[2 * i, 2 * i + 1] for i in range(strategy.num_replicas_in_sync)] == parts(strategy, iterator.get_next())


def test_an_input_function_is_told_who_asks():
    seen = []

    def make(context):
        seen.append((context.num_input_pipelines, context.input_pipeline_id, context.num_replicas_in_sync))
        return tf.data.Dataset.range(4).batch(2)

    mirrored(2).make_input_fn_iterator(make)

    assert [(1, 0, 2)] == seen


@pytest.mark.parametrize("mode", ["PER_WORKER", None, v1.distribute.InputReplicationMode.PER_REPLICA])
def test_any_other_replication_of_input_is_refused(mode):
    with pytest.raises(ValueError, match=r"expected InputReplicationMode\.PER_WORKER"):
        mirrored(2).make_input_fn_iterator(lambda _: tf.data.Dataset.range(2), mode)


def test_a_run_takes_the_next_input_each_time():
    strategy = mirrored(2)
    iterator = strategy.make_dataset_iterator(tf.data.Dataset.range(8).batch(4))
    iterator.initialize()
    results = [parts(strategy, strategy.experimental_run(lambda x: x * 10, iterator)) for _ in range(2)]

    assert [[[0, 10], [20, 30]], [[40, 50], [60, 70]]] == results


def test_a_run_without_input_is_a_run():
    strategy = mirrored(2)

    assert [0, 1] == parts(strategy, strategy.experimental_run(lambda: ctx().replica_id_in_sync_group))


def test_only_central_storage_says_that_a_run_is_deprecated():
    with tf.using("host", gpus=2):
        central = v1.distribute.experimental.CentralStorageStrategy()
    with pytest.warns(DeprecationWarning, match="Switch to using `run` instead") as caught:
        central.experimental_run(lambda: tf.constant(1.0))

    assert __file__ == caught[0].filename


def test_a_configuration_is_copied_and_stays_as_it_is_for_one_worker():
    given = v1.ConfigProto()
    updated = mirrored(2).update_config_proto(given)

    assert given is not updated
    assert vars(given.experimental) == vars(updated.experimental)


@pytest.mark.parametrize("what", [None, {}, 3])
def test_what_is_no_configuration_is_refused(what):
    with pytest.raises(TypeError, match=f"got a {type(what).__name__}; expected a tf.compat.v1.ConfigProto"):
        mirrored(2).update_config_proto(what)


def test_several_workers_have_a_leader_and_look_at_their_own_task():
    def program(index):
        strategy = v1.distribute.experimental.MultiWorkerMirroredStrategy()
        updated = strategy.update_config_proto(v1.ConfigProto())
        return updated.experimental.collective_group_leader, list(updated.device_filters)

    with tf.using("simulator", gpus=1):
        found = run_workers(program, 2)

    assert [("/job:worker/replica:0/task:0", [f"/job:worker/task:{index}"]) for index in range(2)] == found


def test_v2_has_no_iterators_and_no_configurations():
    with tf.using("host", gpus=2):
        strategy = tf.distribute.MirroredStrategy()
    for method in (
        "make_dataset_iterator",
        "make_input_fn_iterator",
        "experimental_run",
        "update_config_proto",
    ):
        assert not hasattr(strategy, method)


def test_a_tpu_strategy_runs_one_step_at_a_time_unless_told_otherwise():
    with tf.using("simulator", tpus=2):
        tf.tpu.experimental.initialize_tpu_system()
        make = v1.distribute.experimental.TPUStrategy

        assert (1, 1, 5) == (
            make().steps_per_run,
            make(steps_per_run=0).steps_per_run,
            make(steps_per_run=5).steps_per_run,
        )
