import contextvars
import pathlib
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import refdist as tf
import simulator
from refdist._core.base.where import HERE
from refdist._core.staging import program_cache, steady_calls
from tests.refdist import staged_programs
from tests.refdist.staged_programs import ctx, numbers

names, strategy = staged_programs.names, staged_programs.strategy  # fixtures

OWN = str(pathlib.Path(tf.__file__).parent)


def calls_of(action):
    """The calls of Python functions of this package that an action makes."""
    calls = []

    def profile(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(OWN):
            calls.append(frame.f_code.co_qualname)

    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(None)
    return calls


def counting(strategy, variables=2):
    """A staged step that adds a sum to variables, with these, an argument for it, and a list of its traces."""
    with strategy.scope():
        held = [tf.Variable(0.0) for _ in range(variables)]
    traces = []

    def replica(x):
        traces.append(1)
        total = ctx().all_reduce("SUM", x)
        for variable in held:
            variable.assign_add(total)
        return total

    @tf.function
    def step(x):
        return strategy.run(replica, args=(x,))

    return step, held, strategy.run(lambda: tf.constant(1.5)), traces


def test_a_steady_call_is_short_however_many_variables_there_are(strategy):
    step, held, x, traces = counting(strategy, variables=6)
    step(x), step(x)  # the second call looks for the program of the first, and remembers it for the third

    calls = calls_of(lambda: step(x))

    assert len(calls) <= 10, calls
    assert ([3.0, 3.0], [9.0] * 6, 2) == (numbers(strategy, step(x)), [float(v) - 3.0 for v in held], len(traces))


def moves(held):
    """What is done to variables, by programs and between them: some are only read, some only written, some both."""
    d, b, c, a = held

    def mixed(x):
        d.assign(a + x)  # a is only read, d only written
        c.assign(c * 2.0 + b)
        b.assign_sub(x)

    def swapped(x):
        first, second = a + 0.0, c + 0.0
        c.assign(first)
        a.assign(second)

    def by_hand(x):
        b.assign(b + 100.0)

    def looked_at(x):
        return float(a) + float(d)  # which takes their values apart

    return mixed, swapped, by_hand, looked_at


@pytest.mark.parametrize("order", ["mmmsmsmm", "mbmbsbmm", "mlmlslmbm", "ssmlbssm"])
def test_programs_find_the_values_of_variables_whoever_wrote_them_last(strategy, order):
    def after(staged):
        with strategy.scope():
            held = [tf.Variable(float(number)) for number in range(4)]
        mixed, swapped, by_hand, looked_at = moves(held)
        if staged:
            mixed, swapped = tf.function(mixed), tf.function(swapped)
        for move in order:
            {"m": mixed, "s": swapped, "b": by_hand, "l": looked_at}[move](tf.constant(1.5))
        return [float(one) for one in held]

    assert after(staged=False) == after(staged=True)


def test_a_steady_call_enters_no_context_and_any_other_leaves_all_that_it_has_entered(strategy, monkeypatch):
    step, _, x, _ = counting(strategy)
    step(x)
    copies = []
    original = steady_calls.contextvars.copy_context
    monkeypatch.setattr(steady_calls.contextvars, "copy_context", lambda: copies.append(1) or original())
    before = HERE.get()

    step(x)
    assert not copies
    step(x=x)
    assert copies
    assert before is HERE.get()


def test_the_same_arguments_somewhere_else_are_another_call(strategy):
    step, held, x, traces = counting(strategy)
    step(x), step(x)

    tf.config.run_functions_eagerly(True)
    try:
        step(x)
        assert 4 == len(traces)  # the body has run, on each of two replicas
    finally:
        tf.config.run_functions_eagerly(False)
    with tf.GradientTape():
        step(x)
    assert 6 == len(traces)
    with strategy.scope():  # where the strategy around the call is another one
        step(x), step(x)
    assert 8 == len(traces)
    tf.function(lambda x: step(x))(x)
    assert 10 == len(traces)
    step(x)

    assert (10, [3.0 * 8] * 2) == (len(traces), [float(v) for v in held])


def test_other_arguments_find_their_own_program(strategy):
    step, _, x, traces = counting(strategy, variables=0)
    scalars, rows = x, strategy.run(lambda: tf.constant([1.0, 2.0]))
    wide = strategy.run(lambda: tf.constant(1, tf.int32))

    for _ in range(3):
        found = [numbers(strategy, step(value))[1] for value in (scalars, rows, wide)]

    assert ([3.0, [2.0, 4.0], 2], 6) == (found, len(traces))
    assert 3.0 == numbers(strategy, step(x=scalars))[0]
    with pytest.raises(TypeError):
        step(scalars, scalars)


def test_the_same_call_after_the_backend_was_changed_is_another_one():
    traces = []

    @tf.function
    def double(x):
        traces.append(1)
        return x * 2

    with tf.using("host"):
        host = [float(double(tf.constant(1.5))) for _ in range(3)]
    found = []
    for name in ("host", "simulator", "host"):
        tf.use(name)
        found += [float(double(tf.constant(2.5))) for _ in range(3)]

    assert ([3.0] * 3, [5.0] * 9, 4) == (host, found, len(traces))


def test_threads_that_call_from_different_places_get_their_own_programs(names):
    pair, triple = (tf.distribute.MirroredStrategy(names[:count]) for count in (2, 3))

    @tf.function
    def replicas():
        return tf.distribute.get_strategy().num_replicas_in_sync * tf.ones([])

    def called(strategy):
        with strategy.scope():
            return {float(replicas()) for _ in range(100)}

    with ThreadPoolExecutor(2) as executor:
        # Each thread starts where this one is.
        tasks = [executor.submit(contextvars.copy_context().run, called, one) for one in (pair, triple)]
        assert [{2.0}, {3.0}] == [task.result() for task in tasks]


def test_what_the_cache_has_dropped_is_not_remembered_either(names, monkeypatch):
    monkeypatch.setattr(program_cache, "MOST_KEPT", 2)
    traces = []

    @tf.function
    def double(x):
        traces.append(x.shape)
        return x * 2

    def called(*sizes):
        for size in sizes:
            assert [2.0] * size == double(tf.ones([size])).numpy().tolist()

    called(1, 1, 1, 2, 2, 2)
    with pytest.warns(RuntimeWarning, match="more than 2 kinds of input"):
        called(3)
    called(3, 3, 3)
    assert (len(double._programs), 3) == (2, len(traces))
    assert set(double._programs.steady[2].values()) <= set(double._programs._kept.values())


def test_on_a_cluster_a_steady_call_still_takes_its_time():
    with tf.using("simulator", cluster=simulator.Cluster.star(2, 1e9, 1e-6)):
        strategy = tf.distribute.MirroredStrategy()
        step, _, x, _ = counting(strategy)
        step(x)
        times = [simulator.now()]
        for _ in range(3):
            step(x)
            times.append(simulator.now())

    assert (np.diff(times) > 0).all()
    np.testing.assert_allclose(np.diff(times), times[2] - times[1])


def test_what_a_function_takes_from_an_iterator_is_taken_once_by_each_call(names):
    elements = iter(tf.data.Dataset.range(4))
    take = tf.function(lambda: next(elements) * 2)

    assert [0, 2, 4, 6] == [int(take()) for _ in range(4)]
    with pytest.raises(tf.errors.OutOfRangeError):
        take()
