"""Real bugs in which replicas or workers do not do the same: what hangs elsewhere is an error with everybody's line."""

import sys

import jax
import pytest

import refdist as tf
from tests.lines import line_of
from tests.zoo.ways import both_ways, mirrored, number, replica, runner


def at(comment):
    return rf"test_meetings\.py:{line_of(__file__, comment)}"


def total(value):
    return replica().all_reduce("sum", value)


def workers(program, count=2):
    tf.use("simulator", gpus=1)
    return tf.cluster.run_workers(program, count)


@both_ways
def test_branch_skips_sync_layer(way):
    strategy = mirrored(4)

    def step():
        if replica().replica_id_in_sync_group % 2:
            total(tf.constant(1.0))  # the vision tower
        return total(tf.constant([1.0, 2.0]))  # the gradient

    with pytest.raises(tf.errors.MeetingError) as raised:
        runner(strategy, way)(step)

    raised.match(rf"replicas 0, 2: waiting in all_reduce\(SUM\) of float32\[2\] at .*{at('# the gradient')}")
    raised.match(rf"replicas 1, 3: waiting in all_reduce\(SUM\) of float32\[\] at .*{at('# the vision tower')}")


@both_ways
def test_metric_keys_differ_hang(way):
    strategy = mirrored(3)

    def step():
        metrics = {"loss": tf.constant(1.0)}
        if replica().replica_id_in_sync_group == 0:
            metrics["ap"] = tf.constant(0.1)
        return {key: total(value) for key, value in sorted(metrics.items())}  # key by key

    with pytest.raises(tf.errors.MeetingError) as raised:
        runner(strategy, way)(step)

    raised.match(rf"replica 0 of 3, on GPU:0: waiting in all_reduce\(SUM\).*{at('# key by key')}")
    raised.match(rf"replicas 1, 2: returned after meeting 1, all_reduce\(SUM\) at .*{at('# key by key')}")


@both_ways
def test_metric_dicts_with_different_keys(way):
    def step():
        return {"ap": 1.0} if replica().replica_id_in_sync_group == 0 else {"loss": 1.0}

    with pytest.raises(ValueError, match=r"replica 0 has \{'ap'.*replica 1 has \{'loss'"):
        runner(mirrored(2), way)(step)


@pytest.mark.parametrize("cond", [jax.lax.cond, tf.cond])
@both_ways
def test_psum_under_cond_on_replica_id(way, cond):
    strategy = mirrored(4)

    def step():
        x = tf.constant(1.0)
        return cond(number() == 0, lambda: total(x), lambda: x)

    with pytest.raises((tf.errors.MeetingError, RuntimeError), match=r"do not meet|in a branch|while JAX is tracing"):
        runner(strategy, way)(step)


@both_ways
def test_unused_parameter_on_one_replica(way):
    strategy = mirrored(2)

    def step():
        gradients = [tf.constant(1.0), None if replica().replica_id_in_sync_group == 1 else tf.constant(2.0)]
        return [total(gradient) for gradient in gradients if gradient is not None]  # one by one

    with pytest.raises(tf.errors.MeetingError) as raised:
        runner(strategy, way)(step)

    raised.match(rf"replica 1 of 2, on GPU:1: returned after meeting 1.*{at('# one by one')}")


@pytest.mark.filterwarnings("ignore:Gradients do not exist")  # Keras's own word, while replica 1 is traced
@both_ways
def test_unused_parameter_on_one_replica_below_a_keras_optimizer(way):
    strategy = mirrored(2)
    with strategy.scope():
        main, box, optimizer = tf.Variable(1.0), tf.Variable(1.0, name="box"), tf.keras.optimizers.SGD(1.0)

    def step():
        missing = replica().replica_id_in_sync_group == 1
        gradients = [tf.constant(1.0), None if missing else tf.constant(1.0)]
        optimizer.apply_gradients(zip(gradients, [main, box], strict=True))  # with Keras

    with pytest.raises(tf.errors.MeetingError) as raised:
        runner(strategy, way)(step)

    raised.match(rf"replica 1 of 2.*with none for box:0.* of \[\*\], float32\[\] at .*{at('# with Keras')}")
    assert (1.0, 1.0) == (float(main), float(box))


@both_ways
def test_exception_on_one_replica(way):
    strategy = mirrored(4)

    def step():
        y = total(tf.constant(1.0))
        if replica().replica_id_in_sync_group == 2:
            raise ValueError("bad sample")
        return total(y)  # the others wait

    with pytest.raises(ValueError, match="bad sample") as raised:
        runner(strategy, way)(step)

    assert raised.value.__notes__[0].startswith("raised in replica 2 of 4")
    if way == "eager":
        assert str(line_of(__file__, "# the others wait")) in raised.value.__notes__[1]


@both_ways
def test_oom_skip_batch_on_one_replica(way):
    strategy = mirrored(4)

    def step():
        try:
            if replica().replica_id_in_sync_group == 1:
                raise MemoryError
            return total(tf.constant(1.0))
        except MemoryError:  # skips the batch
            return tf.constant(0.0)

    with pytest.raises(tf.errors.MeetingError, match="replica 1 of 4, on GPU:1: returned") as raised:
        runner(strategy, way)(step)

    raised.match(rf"except MemoryError.*{at('# skips the batch')} may have swallowed")


@both_ways
def test_sync_point_in_traced_condition_that_all_replicas_share(way):
    strategy = mirrored(2)
    with strategy.scope():
        sums, turns = tf.Variable(0.0), tf.Variable(0)

    def step():
        turns.assign(turns + 1)
        if turns % 2 == 0:
            sums.assign(total(tf.constant(1.0)))

    run = runner(strategy, way)
    for _ in range(4):
        run(step)

    assert (2.0, 4) == (float(sums), int(turns))


def test_chief_only_collective():
    def program(worker):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        strategy.run(lambda: total(tf.constant(1.0)))  # a step
        if worker == 0:
            strategy.run(lambda: total(tf.constant(2.0)))  # the chief reports

    with pytest.raises(tf.errors.MeetingError) as raised:
        workers(program, 3)

    raised.match(rf"worker 0 of 3: waiting in all_reduce\(SUM\).*{at('# the chief reports')}")
    raised.match(rf"workers 1, 2: returned after meeting 1, all_reduce\(SUM\).*{at('# a step')}")


def test_early_stop_decided_locally_and_chief_finishes_first():
    def program(worker):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        for epoch in range(3):
            strategy.run(lambda: total(tf.constant(1.0)))
            if worker == 0 and epoch == 1:
                break

    with pytest.raises(tf.errors.MeetingError, match=r"worker 0 of 2: returned after meeting 2"):
        workers(program)


def test_chief_only_save_of_synced_state(tmp_path):
    def program(worker):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        with strategy.scope():
            seen = tf.Variable(
                0.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM
            )
        strategy.run(lambda: seen.assign_add(1.0))
        if worker == 0:
            tf.train.Checkpoint(seen=seen).save(str(tmp_path / "check"))  # alone

    with pytest.raises(tf.errors.MeetingError, match=rf"worker 0 of 2: waiting in reduce\(SUM\) at .*{at('# alone')}"):
        workers(program)


def test_worker_lost_mid_run():
    def program(worker):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        for step in range(3):
            if worker == 1 and step == 2:
                sys.exit(1)  # is lost
            strategy.run(lambda: total(tf.constant(1.0)))

    with pytest.raises(tf.errors.MeetingError, match=rf"worker 1 of 2: left by SystemExit\(1\) at .*{at('# is lost')}"):
        workers(program)


def test_no_initial_broadcast_is_impossible():
    def program(worker):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        with strategy.scope():
            return float(tf.Variable(float(worker)))

    assert [0.0, 0.0] == workers(program)


def _resolver(addresses, task):
    spec = tf.train.ClusterSpec({"worker": addresses})
    return tf.distribute.cluster_resolver.SimpleClusterResolver(spec, task_type="worker", task_id=task)


def test_two_workers_with_one_index():
    def program(worker):
        tf.distribute.MultiWorkerMirroredStrategy(_resolver(["a:1", "b:1"], 0))

    with pytest.raises(ValueError, match="Workers 0 and 1 both say that they are worker:0"):
        workers(program)


def test_clusters_that_differ():
    def program(worker):
        tf.distribute.MultiWorkerMirroredStrategy(_resolver(["a:1", "bc"[worker] + ":1"], worker))

    with pytest.raises(ValueError, match=r"Worker 1 was told the cluster .*'c:1'.*worker 0 .*'b:1'"):
        workers(program)


def test_two_strategies_of_different_size_simply_work():
    tf.use("simulator", gpus=4)
    totals = []
    for count in (2, 4):
        strategy = tf.distribute.MirroredStrategy([f"GPU:{index}" for index in range(count)])
        totals.append(float(strategy.reduce("SUM", strategy.run(lambda: tf.constant(1.0)), axis=None)))

    assert [2.0, 4.0] == totals


def test_one_slow_replica():
    with tf.using("simulator", cluster=tf.simulator.presets.dgx_h100()):
        strategy = tf.distribute.MirroredStrategy()

        def step():
            tf.simulator.busy(0.21 if replica().replica_id_in_sync_group == 1 else 0.01)
            return total(tf.constant(1.0))

        strategy.run(step)

        assert tf.simulator.step_report().splitlines()[-1].endswith("GPU:1")
