"""Tests of what is told where one worker alone writes to variables of all workers."""

import pytest

import refdist as tf
from tests.lines import line_of
from tests.zoo.ways import both_ways, replica


def at(comment):
    return rf"test_writes_of_one_worker\.py:{line_of(__file__, comment)}"


def workers(program, way):
    wrap = tf.function if way == "staged" else lambda step: step
    tf.use("simulator", gpus=2)
    return tf.cluster.run_workers(lambda worker: program(worker, wrap), 2)


def made(**kwargs):
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        return strategy, tf.Variable([1.0, 2.0], name="v", **kwargs)


def step(strategy, variable, wrap):
    """What all workers do together, after which they have met."""
    wrap(lambda: strategy.run(lambda: replica().all_reduce("sum", tf.reduce_sum(variable))))()
    return [float(one) for one in variable.numpy()]


@both_ways
def test_weights_that_only_the_chief_loads(way):
    def program(worker, wrap):
        strategy, v = made()
        if worker == 0:
            v.assign([5.0, 6.0])  # alone
        return step(strategy, v, wrap)

    with pytest.raises(ValueError, match=r"Worker 0 has set .*'v:0' to \[5\., 6\.\] .*and worker 1 has not") as raised:
        workers(program, way)

    raised.match(at("# alone"))


@both_ways
def test_a_checkpoint_that_only_one_worker_restores(way, tmp_path):
    def program(worker, wrap):
        strategy, v = made()
        checkpoint = tf.train.Checkpoint(v=v)
        path = checkpoint.save(str(tmp_path / "check"))
        v.assign_add([1.0, 1.0])
        step(strategy, v, wrap)
        if worker == 1:
            checkpoint.restore(path)  # only here
        return step(strategy, v, wrap)

    with pytest.raises(ValueError, match=r"Worker 1 has set .* and worker 0 has not") as raised:
        workers(program, way)

    raised.match(at("# only here"))


@both_ways
def test_another_value_on_each_worker(way):
    def program(worker, wrap):
        strategy, v = made()
        v.assign([float(worker), 7.0])  # its own
        return step(strategy, v, wrap)

    expected = rf"Worker 0 .* to \[0\., 7\.\] .*, and worker 1 has set it to \[1\., 7\.\] at .*{at('# its own')}"
    with pytest.raises(ValueError, match=expected):
        workers(program, way)


def test_a_learning_rate_that_one_worker_reduces_is_told_with_the_line_of_the_program():
    def program(worker, wrap):
        strategy, v = made()
        with strategy.scope():
            optimizer = tf.keras.optimizers.SGD(0.1)
        if worker == 1:
            optimizer.learning_rate.assign(0.05)  # a plateau
        strategy.run(lambda: optimizer.apply_gradients([(tf.constant([1.0, 1.0]), v)]))

    with pytest.raises(ValueError, match=r"'learning_rate:0' to 0\.05") as raised:
        workers(program, "eager")

    raised.match(at("# a plateau"))


@both_ways
def test_what_all_workers_write_alike_is_silent(way, tmp_path):
    def program(worker, wrap):
        strategy, v = made()
        v.assign([3.0, 4.0])
        if worker == 0:
            v.assign(v.read_value())  # changes nothing
        path = tf.train.Checkpoint(v=v).save(str(tmp_path / "check"))
        step(strategy, v, wrap)
        tf.train.Checkpoint(v=v).restore(path).assert_consumed()
        v.assign_sub([1.0, 1.0])
        return step(strategy, v, wrap)

    assert [[2.0, 3.0]] * 2 == workers(program, way)


def test_each_worker_may_keep_its_own_where_copies_are_combined_when_read():
    on_read, total = tf.VariableSynchronization.ON_READ, tf.VariableAggregation.SUM

    def program(worker, wrap):
        strategy, v = made(synchronization=on_read, aggregation=total)
        for copy in strategy.experimental_local_results(v):
            copy.assign([float(worker), 1.0])
        return [float(one) for one in v.numpy()]

    assert [[2.0, 4.0]] * 2 == workers(program, "eager")
