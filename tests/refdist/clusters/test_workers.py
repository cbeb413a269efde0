import json
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

import refdist as tf
from refdist._core.backends.host_backend import HostBackend
from refdist._core.clusters.workers import run_workers
from refdist._core.variables import distributed_variable

NONE, SUM, MEAN, FIRST = tf.VariableAggregation
ctx = tf.distribute.get_replica_context


def replica_id():
    return ctx().replica_id_in_sync_group


def together(program, workers=2, gpus=2, backend="simulator"):
    """Run `program(strategy, index)` on each of several workers."""
    with tf.using(backend, gpus=gpus):
        return run_workers(lambda index: program(tf.distribute.MultiWorkerMirroredStrategy(), index), workers)


def parts(strategy, value):
    return [np.asarray(part).tolist() for part in strategy.experimental_local_results(value)]


@given(workers=generators.integers(1, 4), gpus=generators.integers(1, 4))
@settings(max_examples=20)
def test_replicas_of_all_workers_are_numbered_and_reduced_together(workers, gpus):
    def program(strategy, index):
        ids = strategy.run(replica_id)
        mean = strategy.run(lambda: ctx().all_reduce("mean", float(replica_id())))
        total = strategy.reduce("SUM", strategy.run(lambda: tf.constant(float(replica_id()))), axis=None)
        gathered = strategy.gather(strategy.run(lambda: tf.constant([replica_id()])), axis=0)
        return (
            strategy.num_replicas_in_sync,
            parts(strategy, ids),
            parts(strategy, mean),
            float(total),
            gathered.tolist(),
        )

    count = workers * gpus
    for index, (replicas, ids, means, total, gathered) in enumerate(together(program, workers, gpus)):
        assert (count, list(range(index * gpus, (index + 1) * gpus))) == (replicas, ids)
        assert ([(count - 1) / 2] * gpus, sum(range(count)), list(range(count))) == (means, total, gathered)


def test_devices_are_named_after_their_task_and_the_scope_is_on_the_cpu():
    def program(strategy, index):
        with strategy.scope():
            variable, constant = tf.Variable(1.0), tf.constant(1.0)
        total = strategy.reduce("SUM", strategy.run(lambda: tf.constant(1.0)), axis=None)
        return strategy.extended.worker_devices[1], variable.device, constant.device, total.device

    task = "/job:worker/replica:0/task:1/device"
    assert (f"{task}:GPU:1", f"{task}:GPU:0", f"{task}:CPU:0", f"{task}:CPU:0") == together(program)[1]


@pytest.mark.parametrize(("aggregation", "expected"), [(SUM, 10.0), (MEAN, 2.5), (FIRST, 1.0)])
@pytest.mark.parametrize("synchronization", [tf.VariableSynchronization.ON_WRITE, tf.VariableSynchronization.ON_READ])
def test_variables_agree_over_all_workers(aggregation, expected, synchronization):
    def program(strategy, index):
        with strategy.scope():
            variable = tf.Variable(0.0, aggregation=aggregation, synchronization=synchronization)
        strategy.run(lambda: variable.assign(tf.constant(1.0) * (replica_id() + 1)))
        return float(variable.numpy())

    assert [expected, expected] == together(program)


def test_all_workers_start_from_the_value_of_the_first():
    def program(strategy, index):
        with strategy.scope():
            return parts(strategy, tf.Variable(lambda: float(index + 7)))

    assert [[7.0, 7.0], [7.0, 7.0]] == together(program)


def test_variables_of_different_shape_on_the_workers_are_refused():
    with pytest.raises(ValueError, match=r"\(1,\), \(2,\)"):
        together(lambda strategy, index: strategy.scope().__enter__() and tf.Variable(np.ones(index + 1)), gpus=1)


@pytest.mark.parametrize(
    ("program", "count"), [(None, 2), (lambda index: 1, 0), (lambda index: 1, "2"), (lambda index: 1, True)]
)
def test_workers_that_cannot_be_are_refused(program, count):
    with pytest.raises(ValueError, match="expected a function"):
        run_workers(program, count)


@pytest.mark.parametrize("gpus", [1, 2])
def test_a_variable_made_in_a_replica_is_the_same_on_all_workers(gpus):
    def program(strategy, index):
        return parts(strategy, strategy.run(lambda: tf.Variable(float(replica_id() + 3), name="made")))

    assert [[3.0] * gpus] * 2 == together(program, gpus=gpus)


def test_copies_that_would_come_apart_between_workers_are_an_error():
    def program(strategy, index):
        with strategy.scope():
            variable = tf.Variable(0.0)
        strategy.run(lambda: variable.assign(tf.constant(float(index))))

    with pytest.raises(ValueError, match="different values from replica 0 and replica 2"):
        together(program)


def test_a_mean_over_uneven_batches_of_all_workers_divides_by_all_examples():
    def program(strategy, index):
        value = strategy.run(lambda: tf.ones([replica_id()]) * 4.0)
        return float(strategy.reduce("MEAN", value, axis=0)), float(strategy.reduce("SUM", value, axis=0))

    assert [(4.0, 24.0)] * 2 == together(program)


def test_workers_that_do_not_meet_are_named():
    def program(strategy, index):
        if index == 0:
            strategy.run(lambda: ctx().all_reduce("sum", 1.0))

    with pytest.raises(
        tf.errors.MeetingError,
        match=r"2 workers do not meet:\s+worker 0 of 2: waiting in all_reduce\(SUM\)[\s\S]*worker 1 of 2: returned",
    ):
        together(program)


def test_each_worker_reads_its_own_part_of_the_data():
    def program(strategy, index):
        data = tf.data.Dataset.range(8).batch(4)
        options = tf.data.Options()
        options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
        elements = strategy.experimental_distribute_dataset(data.with_options(options))
        given_contexts = []
        strategy.distribute_datasets_from_function(lambda given: given_contexts.append(given) or data)
        return [parts(strategy, element) for element in elements], given_contexts

    first, second = together(program, gpus=1)
    assert ([[[0, 1]], [[4, 5]]], [[[2, 3]], [[6, 7]]]) == (first[0], second[0])
    assert [tf.distribute.InputContext(2, 1, 2)] == second[1]


def test_an_error_in_one_worker_ends_all_and_gives_the_environment_back(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)

    def program(strategy, index):
        if index == 1:
            raise KeyError
        strategy.run(lambda: ctx().all_reduce("sum", 1.0))

    with pytest.raises(KeyError) as raised:
        together(program)

    assert "raised in worker 1 of 2" == raised.value.__notes__[0]
    assert "TF_CONFIG" not in os.environ


def test_workers_that_end_by_an_error_leave_no_device_of_jax_entered():
    import jax

    def program(worker):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        with tf.device(f"/job:worker/task:{worker}/device:CPU:0"):
            strategy.reduce("SUM" if worker else "MEAN", strategy.run(lambda: tf.ones([])), axis=None)

    with tf.using("jax", cpus=4), pytest.raises(tf.errors.MeetingError):
        tf.cluster.run_workers(program, 2)

    assert jax.config.jax_default_device is None


def test_a_worker_alone_says_that_it_needs_the_others(monkeypatch):
    config = {"cluster": {"worker": ["a:1", "b:2"], "ps": ["c:3"]}, "task": {"type": "worker", "index": 1}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    with tf.using("host", gpus=2):
        strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()

    resolver = strategy.cluster_resolver
    assert ("worker", 1, config["cluster"]) == (resolver.task_type, resolver.task_id, resolver.cluster_spec().as_dict())
    assert (4, [2, 3]) == (strategy.num_replicas_in_sync, parts(strategy, strategy.run(replica_id)))
    with pytest.raises(RuntimeError, match="runs alone"):
        strategy.run(lambda: ctx().all_reduce("sum", 1.0))


def test_without_a_cluster_it_is_one_worker(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    with tf.using("host", gpus=2):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()

    assert 2.0 == float(strategy.reduce("SUM", strategy.run(lambda: tf.constant(1.0)), axis=None))
    assert strategy.extended.worker_devices[0].startswith("/job:localhost")


def test_a_parameter_server_does_not_train(monkeypatch):
    monkeypatch.setenv(
        "TF_CONFIG", json.dumps({"cluster": {"worker": ["a:1"], "ps": ["c:3"]}, "task": {"type": "ps", "index": 0}})
    )
    with pytest.raises(ValueError, match="ps:0; expected one of worker:0"):
        tf.distribute.MultiWorkerMirroredStrategy()


@pytest.mark.parametrize("workers", [1, 3])
def test_what_all_workers_add_up_is_added_up_once_for_all_of_them(workers, monkeypatch):
    sums, compared = [], []
    fold, require_equal = HostBackend.fold, distributed_variable.require_equal
    monkeypatch.setattr(HostBackend, "fold", lambda self, tensors: sums.append(len(tensors)) or fold(self, tensors))
    monkeypatch.setattr(
        distributed_variable, "require_equal", lambda *given: compared.append(len(given[-1])) or require_equal(*given)
    )

    def program(strategy, index):
        with strategy.scope():
            mean, none = tf.Variable([0.0, 0.0], aggregation=MEAN), tf.Variable([0.0, 0.0])

        def replica():
            x = tf.constant([replica_id() * 0.1, 1.0])
            both = ctx().all_reduce("SUM", {"x": x, "y": x[0]})
            mean.assign_add(x)
            none.assign_add(both["x"] * 1.0)
            return both["y"]

        each = strategy.run(replica)
        results = strategy.reduce("MEAN", each, axis=None), strategy.gather(strategy.run(lambda: mean[:1]), axis=0)
        return [np.asarray(one).tobytes() for one in (mean, none, *results)], mean.device, each.values[1].device

    found = together(program, workers)

    assert [2 * workers] * 4 == sums  # two columns, the write that takes the mean, and the reduction
    assert [2 * workers] == compared
    assert len({tuple(values) for values, *_ in found}) == 1
    for index, (_, home, second) in enumerate(found):
        assert (f"task:{index}/device:GPU:0", f"task:{index}/device:GPU:1") == (home[-19:], second[-19:])


def test_workers_have_the_bits_of_one_strategy_over_as_many_devices():
    def steps(strategy):
        with strategy.scope():
            weights = tf.Variable(np.linspace(-1, 1, 7, dtype=np.float32))

        def replica():
            own = np.float32(0.1 * replica_id() + 0.3)
            gradients = ctx().all_reduce("MEAN", [weights * own, weights[:3] / own])
            weights.assign_sub(gradients[0])
            return gradients[1]

        results = [strategy.reduce("SUM", strategy.run(replica), axis=0) for _ in range(3)]
        return [np.asarray(one).tobytes() for one in (weights, *results)]

    with tf.using("simulator", gpus=12):
        alone = steps(tf.distribute.MirroredStrategy())

    assert [alone] * 4 == together(lambda strategy, _: steps(strategy), workers=4, gpus=3)


def test_workers_share_the_devices_of_jax():
    def program(index):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        joined = strategy.gather(strategy.run(lambda: tf.constant([replica_id()])), axis=0)
        return float(strategy.run(lambda: ctx().all_reduce("sum", float(replica_id() + 1)))), joined.tolist()

    with tf.using("jax", cpus=4):
        results = run_workers(program, 4)
        with pytest.raises(ValueError, match="share 4 CPUs"):
            run_workers(lambda index: index, 5)

    assert [(10.0, [0, 1, 2, 3])] * 4 == results


def staged_program(strategy, index, staged):
    """Every way in which a function can use a strategy of several workers."""
    wrap = tf.function if staged else lambda fn: fn
    with strategy.scope():
        variable = tf.Variable(0.0, aggregation=SUM)
        own = tf.Variable(0.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=SUM)

    def replica(x):
        variable.assign_add(x)
        own.assign_add(x)
        return ctx().all_reduce("SUM", x)

    def values():
        return strategy.experimental_distribute_values_from_function(
            lambda c: tf.constant(1.0 + c.replica_id_in_sync_group)
        )

    @wrap
    def step(x):
        each = strategy.run(replica, args=(x,))
        return strategy.reduce("SUM", each, axis=None), strategy.gather(
            strategy.run(lambda x: x[None], args=(x,)), axis=0
        )

    read = wrap(lambda: own.read_value())
    outside = [np.asarray(part).tolist() for part in step(values())]
    with strategy.scope():
        inside = [np.asarray(part).tolist() for part in step(values())]
    in_replicas = parts(strategy, strategy.run(wrap(replica), args=(values(),)))
    return outside, inside, in_replicas, float(variable), float(read()), float(own)


@pytest.mark.parametrize("backend", ["simulator", "host"])
@given(workers=generators.integers(1, 3), gpus=generators.integers(1, 3))
@settings(max_examples=9)
def test_a_function_combines_what_all_workers_have(backend, workers, gpus):
    eager, staged = (
        together(lambda s, i, staged=staged: staged_program(s, i, staged), workers, gpus, backend)
        for staged in (False, True)
    )
    count = workers * gpus
    total = count * (count + 1) / 2

    assert eager == staged
    for outside, inside, in_replicas, variable, read, own in staged:
        assert [total * count, [1.0 + number for number in range(count)]] == outside == inside
        assert ([total] * gpus, 3 * total, 3 * total, 3 * total) == (in_replicas, variable, read, own)


def test_on_jax_a_function_combines_what_all_workers_have():
    def run(index):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        return staged_program(strategy, index, True)

    with tf.using("jax", cpus=2):
        first, second = run_workers(run, 2)

    assert first == second
    assert ([6.0, [1.0, 2.0]], 9.0) == (first[0], first[3])


def test_the_warning_about_data_that_all_workers_read_names_the_users_line():
    def program(strategy, index):
        strategy.experimental_distribute_dataset(tf.data.Dataset.range(4).batch(2))

    with pytest.warns(UserWarning, match="does not come from files alone") as warned:
        together(program)

    assert {__file__} == {one.filename for one in warned}


def test_workers_that_reduce_tensors_of_different_shapes_do_not_meet():
    def program(strategy, index):
        strategy.run(lambda: ctx().all_reduce("SUM", tf.ones([2 + index])))

    with pytest.raises(tf.errors.MeetingError) as raised:
        together(program)

    assert "worker 0 of 2: waiting in all_reduce(SUM) of float32[2] at" in str(raised.value)
    assert "worker 1 of 2: waiting in all_reduce(SUM) of float32[3] at" in str(raised.value)
