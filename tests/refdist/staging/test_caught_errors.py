"""A replica that catches an error while its function is traced does not go on where it could not outside of functions."""

import numpy as np
import pytest

import refdist as tf
from tests.refdist.staged_programs import NONE, SUM, ctx, numbers


def number():
    return ctx().replica_id_in_sync_group


def mirrored(count):
    return tf.distribute.MirroredStrategy([f"GPU:{index}" for index in range(count)])


WAYS = {
    "eager": lambda strategy, fn: strategy.run(fn),
    "each": lambda strategy, fn: tf.function(lambda: strategy.run(fn))(),
    "once": lambda strategy, fn: tf.function(lambda: strategy.run(fn), trace_once=True)(),
    "without autograph": lambda strategy, fn: tf.function(lambda: strategy.run(fn), trace_once=True, autograph=False)(),
}


@pytest.fixture(params=WAYS)
def run(request):
    with tf.using("simulator", gpus=2):
        yield lambda strategy, fn: WAYS[request.param](strategy, fn)


def refusing(x):
    raise OSError("in the merge function")


CALLS = {
    "a number that is to be summed": lambda one: one["summed"].assign_add(1.0),
    "different values": lambda one: one["single"].assign(tf.cast(number(), tf.float32)),
    "an axis": lambda one: ctx().all_gather(tf.constant([1.0]), 3),
    "text": lambda one: ctx().all_reduce("sum", "text"),
    "a merge function": lambda one: ctx().merge_call(refusing),
    "an operator in a merge function": lambda one: ctx().merge_call(
        lambda s, y: s.reduce("no", y, axis=None), (one["x"],)
    ),
}
CAUGHT = {
    "an operator": lambda one: ctx().all_reduce("no", one["x"]),
    "a shape": lambda one: one["single"].assign([1.0, 2.0]),
    "a run in a run": lambda one: one["strategy"].run(lambda: 1),
}


def caught(run, call):
    strategy = mirrored(2)
    with strategy.scope():
        one = {"summed": tf.Variable(0.0, aggregation=SUM), "single": tf.Variable(0.0, aggregation=NONE)}
    one |= {"x": tf.constant(1.0), "strategy": strategy}

    def step():
        try:
            call(one)
        except Exception:
            return tf.constant(-1.0)
        return tf.constant(1.0)

    return numbers(strategy, run(strategy, step))


@pytest.mark.parametrize("call", CALLS)
def test_an_error_of_a_meeting_cannot_be_caught_in_replicas(run, call):
    with pytest.raises((ValueError, TypeError, OSError)):
        caught(run, CALLS[call])


@pytest.mark.parametrize("call", CAUGHT)
def test_an_error_before_a_meeting_can_be_caught(run, call):
    assert [-1.0, -1.0] == caught(run, CAUGHT[call])


def raising_on_one():
    x = tf.constant(1.0)
    try:
        if number() == 5:
            raise ValueError("not on replica 5")
        return ctx().all_reduce("sum", x)
    except ValueError:
        return x


def raising_in_a_loop():
    x = tf.constant(1.0)
    for _ in tf.range(3):
        try:
            if number() == 5:
                raise ValueError("not on replica 5")
            x = x * 2.0
        except ValueError:
            x = x + 0.0
    return x


def choosing():
    x = tf.constant(1.0)
    try:
        return ctx().all_reduce("sum" if number() else "mean", x)
    except Exception:
        return x


def indexing():
    try:
        return tf.constant([1.0, 2.0][number() % 2])
    except Exception:
        return tf.constant(1.0)


def going_through():
    try:
        return tf.constant(float(sum(list(range(number())))))
    except Exception:
        return tf.constant(1.0)


def asking_for_devices():
    try:
        return tf.constant(1.0 if ctx().devices[0].endswith(":0") else 2.0)
    except Exception:
        return tf.constant(3.0)


@pytest.mark.parametrize("fn", [raising_on_one, choosing, indexing, going_through, asking_for_devices])
@pytest.mark.parametrize("autograph", [True, False])
def test_what_a_symbolic_number_cannot_do_cannot_be_caught(fn, autograph):
    with tf.using("simulator", gpus=65):
        step = tf.function(lambda: mirrored(65).run(fn), autograph=autograph)
        with pytest.raises((ValueError, TypeError, RuntimeError)) as raised:
            step()

    # An error that the program does not catch needs no note.
    expected = autograph or fn is not raising_on_one
    assert expected == any("caught this while it was traced" in note for note in raised.value.__notes__)


def test_an_error_on_one_replica_cannot_be_caught_in_a_loop():
    with tf.using("simulator", gpus=65), pytest.raises(ValueError, match="not on replica 5"):
        tf.function(lambda: mirrored(65).run(raising_in_a_loop))()


def test_on_tpus_an_operator_that_differs_between_replicas_cannot_be_caught():
    with tf.using("simulator", tpus=2):
        strategy = tf.distribute.TPUStrategy()
        with pytest.raises(ValueError, match="expected a single truth value"):
            tf.function(lambda: strategy.run(choosing))()


def test_the_value_of_another_tensor_may_be_asked_for_and_the_error_caught():
    """As with 64 replicas, where each is traced by itself: what is only printed is no reason to refuse the step."""

    def step(x):
        try:
            print(np.asarray(x))
        except Exception:
            return x + 1.0
        return x

    with tf.using("simulator", gpus=65):
        strategy = mirrored(65)
        x = strategy.run(lambda: tf.constant(1.0))
        result = tf.function(lambda: strategy.run(step, (x,)))()

    assert [2.0] * 65 == numbers(strategy, result)


def test_a_run_goes_on_after_one_that_has_failed():
    with tf.using("simulator", gpus=2):
        strategy = mirrored(2)

        @tf.function(trace_once=True, autograph=False)
        def step():
            try:
                strategy.run(lambda: ctx().merge_call(refusing))
            except OSError:
                return strategy.run(lambda: tf.constant(1.0))

        assert [1.0, 1.0] == numbers(strategy, step())


def test_the_devices_of_a_replica_are_refused_where_one_trace_stands_for_all():
    with tf.using("simulator", gpus=65):
        strategy = mirrored(65)
        with pytest.raises(RuntimeError, match="traced once for all 65 replicas"):
            tf.function(lambda: strategy.run(lambda: tf.constant(len(ctx().devices[0]))))()
