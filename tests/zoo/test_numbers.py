"""Bugs of numbers, random numbers, host effects, order and kind: each is told with replica and line; its correct twin is silent."""

import warnings

import numpy as np
import pytest

import refdist as tf

MODES = pytest.mark.parametrize("staged", [False, True], ids=["eager", "staged"])
HERE = r"test_numbers\.py:\d+"
SUM, MEAN = tf.distribute.ReduceOp.SUM, tf.distribute.ReduceOp.MEAN


def ctx():
    return tf.distribute.get_replica_context()


def rid():
    return ctx().replica_id_in_sync_group


def run(staged, step, *values, gpus=2, **options):
    """Run a step once; each value is a list with one component for each replica."""
    with warnings.catch_warnings(), tf.using("simulator", gpus=gpus, **options):
        warnings.simplefilter("error")
        strategy = tf.distribute.MirroredStrategy()
        given = tuple(
            strategy.experimental_distribute_values_from_function(
                lambda c, v=v: tf.constant(v[c.replica_id_in_sync_group])
            )
            for v in values
        )
        whole = tf.function(strategy.run) if staged else strategy.run
        return strategy.experimental_local_results(whole(step, given))


def reduce_mean(x):
    return ctx().all_reduce(MEAN, x)


def reduce_sum(x):
    return ctx().all_reduce(SUM, x)


HALVES = [np.float16([value]) for value in (40000.0, 40000.0, -40000.0, 1.0)]


@MODES
def test_fp16_sum_overflows_before_mean(staged):
    with pytest.raises(tf.errors.NumericsError, match=rf"MEAN of float16.*{HERE}.*80000 with replica 1.*10000\.25"):
        run(staged, reduce_mean, HALVES, gpus=4, numerics="check")


@MODES
def test_fp16_sum_overflows_before_mean_twin_reduces_in_float32(staged):
    found = run(staged, lambda x: reduce_mean(tf.cast(x, tf.float32)), HALVES, gpus=4, numerics="check")

    assert np.asarray(found[0]).tolist() == [10000.25]


@MODES
def test_reduction_order_changes_result(staged):
    with pytest.raises(tf.errors.NumericsWarning, match=rf"{HERE}.*is 1, and 2 in float64.*depends on the order"):
        run(staged, reduce_sum, np.float32([1e8, 1.0, -1e8, 1.0]), gpus=4, numerics="check")


@MODES
def test_reduction_order_changes_result_twin_adds_in_float64(staged):
    found = run(staged, reduce_sum, np.float64([1e8, 1.0, -1e8, 1.0]), gpus=4, numerics="check")

    assert float(found[0]) == 2.0


@MODES
def test_identical_augmentation_on_all_ranks(staged):
    def step(x):
        return x + tf.random.stateless_uniform([4], seed=(1, 0))

    with pytest.raises(tf.errors.RandomnessWarning, match=rf"{HERE}.*the replicas 0 and 1, with the seed \[1, 0\]"):
        run(staged, step, [np.zeros(4, np.float32)] * 2, randomness="check")


@MODES
def test_identical_augmentation_on_all_ranks_twin_folds_the_replica_in(staged):
    one, other = run(staged, lambda: tf.random.stateless_uniform([4], seed=(1, rid())), randomness="check")

    assert np.asarray(one).tolist() != np.asarray(other).tolist()


def test_layer_drop_decided_per_replica():
    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            generator = tf.random.Generator.from_seed(0)

        def step():
            return reduce_sum(tf.constant(1.0)) if float(generator.uniform(())) > 0.5 else tf.constant(0.0)

        with pytest.raises(
            tf.errors.MeetingError, match=rf"(?s)replica \d of 2.*returned|waiting in all_reduce.*{HERE}"
        ):
            for _ in range(20):
                strategy.run(step)


def test_layer_drop_decided_per_replica_twin_draws_one_number_for_all():
    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.MirroredStrategy()
        generator = np.random.default_rng(0)
        for _ in range(20):
            keep = generator.uniform() > 0.5
            strategy.run(lambda keep=keep: reduce_sum(tf.constant(1.0)) if keep else tf.constant(0.0))


@MODES
def test_side_effects_run_n_times(staged):
    log = []

    def step(x):
        log.append(1)
        return x

    times = "4 times while the function was traced, and never again" if staged else "each of the 4 replicas"
    with pytest.raises(tf.errors.HostEffectWarning, match=rf"The list 'log' was changed .*{HERE}.*{times}"):
        run(staged, step, [1.0] * 4, gpus=4, watch="python")


@MODES
def test_side_effects_run_n_times_twin_returns_the_value(staged):
    log = []
    log.append([float(one) for one in run(staged, lambda x: x, [1.0] * 4, gpus=4, watch="python")])

    assert log == [[1.0] * 4]


@MODES
def test_scheduler_steps_n_times(staged):
    class Schedule:
        def __init__(self):
            self.steps = 0

    schedule = Schedule()

    def step(x):
        schedule.steps += 1
        return x

    with pytest.raises(
        tf.errors.HostEffectWarning, match=r"An attribute of the Schedule 'schedule'.*steps=0 to steps=2"
    ):
        run(staged, step, [1.0] * 2, watch="python")


@MODES
def test_dict_iteration_order(staged):
    def step():
        gradients = {"w": tf.constant(1.0), "b": tf.constant(10.0)}
        names = ("w", "b") if rid() == 0 else ("b", "w")
        return {name: ctx().all_reduce(SUM, gradients[name], name=name) for name in names}

    with pytest.raises(tf.errors.MeetingError, match=rf"(?s)replica 0.*name='w'.*{HERE}.*replica 1.*name='b'.*{HERE}"):
        run(staged, step)


@MODES
def test_dict_iteration_order_twin_passes_the_dict(staged):
    def step():
        gradients = {"w": tf.constant(1.0), "b": tf.constant(10.0)}
        names = ("w", "b") if rid() == 0 else ("b", "w")
        return ctx().all_reduce(SUM, {name: gradients[name] for name in names})["b"]

    assert [float(one) for one in run(staged, step)] == [20.0, 20.0]


@MODES
def test_allreduce_meets_broadcast(staged):
    def step(x):
        return ctx().all_gather(x, axis=0) if rid() == 0 else ctx().all_reduce(SUM, x)

    with pytest.raises(
        tf.errors.MeetingError, match=rf"(?s)replica 0.*all_gather.*{HERE}.*replica 1.*all_reduce.*{HERE}"
    ):
        run(staged, step, [np.ones(2, np.float32)] * 2)


@MODES
def test_sum_here_mean_there(staged):
    with pytest.raises(tf.errors.MeetingError, match=rf"(?s)all_reduce\(MEAN\).*{HERE}.*all_reduce\(SUM\).*{HERE}"):
        run(staged, lambda x: ctx().all_reduce(MEAN if rid() == 0 else SUM, x), [1.0, 2.0])


def test_tensor_names_differ_per_rank():
    def program(worker):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        name = "model/w" if worker == 0 else "model_1/w"
        strategy.run(lambda: ctx().all_reduce(SUM, tf.constant(1.0), name=name))

    with (
        tf.using("simulator", gpus=1),
        pytest.raises(tf.errors.MeetingError, match=r"(?s)worker 0.*'model/w'.*worker 1.*'model_1/w'"),
    ):
        tf.cluster.run_workers(program, 2)


def test_variable_creation_order_differs():
    def program(worker):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        with strategy.scope():
            if worker == 0:
                tf.Variable(1.0, name="a"), tf.Variable(100.0, name="b")
            else:
                tf.Variable(100.0, name="b"), tf.Variable(1.0, name="a")

    with (
        tf.using("simulator", gpus=1),
        pytest.raises(tf.errors.MeetingError, match=rf"(?s)worker 0.*{HERE}.*worker 1.*{HERE}"),
    ):
        tf.cluster.run_workers(program, 2)


@MODES
def test_ragged_per_host_shapes(staged):
    def step():
        return ctx().all_reduce(SUM, tf.ones([2 + rid()]))

    with pytest.raises(tf.errors.MeetingError, match=rf"(?s)replica 0.*float32\[2\].*{HERE}.*replica 1.*float32\[3\]"):
        run(staged, step)


@MODES
def test_dtype_promoted_on_one_replica(staged):
    def step():
        return ctx().all_reduce(SUM, tf.ones([2], tf.float32 if rid() == 0 else tf.float64))

    with pytest.raises(tf.errors.MeetingError, match=rf"(?s)replica 0.*float32\[2\].*{HERE}.*replica 1.*float64\[2\]"):
        run(staged, step)


def gradient_of_rows(count):
    return tf.IndexedSlices(tf.ones([count, 2]), tf.constant(list(range(count))), tf.constant([4, 2]))


@MODES
def test_sparse_on_some_dense_on_others(staged):
    def step():
        gradient = gradient_of_rows(2)
        return ctx().all_reduce(SUM, tf.convert_to_tensor(gradient) if rid() == 0 else gradient)

    with pytest.raises(
        tf.errors.MeetingError, match=rf"(?s)replica 0.*float32\[4,2\].*{HERE}.*replica 1.*IndexedSlices"
    ):
        run(staged, step)


@MODES
def test_sparse_on_some_dense_on_others_twin_has_other_numbers_of_rows(staged):
    found = run(staged, lambda: tf.convert_to_tensor(ctx().all_reduce(SUM, gradient_of_rows(1 + rid()))))

    assert np.asarray(found[0])[:, 0].tolist() == [2.0, 1.0, 0.0, 0.0]


@MODES
def test_permute_that_is_no_permutation(staged):
    with pytest.raises(ValueError, match=r"the pair \(1, 1\), but replica 1 already receives from 0"):
        run(staged, lambda x: ctx().permute(x, [(0, 1), (1, 1)]), [1.0, 2.0])


def test_variable_creation_order_differs_in_one_line():
    def program(worker):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        with strategy.scope():
            return [tf.Variable(1.0, name=name) for name in (("a", "b") if worker == 0 else ("b", "a"))]

    with (
        tf.using("simulator", gpus=1),
        pytest.raises(
            tf.errors.MeetingError, match=rf"(?s)worker 0.*a new variable 'a'.*{HERE}.*worker 1.*a new variable 'b'"
        ),
    ):
        tf.cluster.run_workers(program, 2)
