"""tf.gradients gives what TensorFlow gives, and refuses what TensorFlow refuses."""

import json
import pathlib

import numpy as np
import pytest

import refdist as tf
from tests.refdist.tape.graph_programs import (
    COUNTS,
    PROGRAMS,
    REFUSED,
    answered,
    answered_in_replicas,
)

ANSWERS = json.loads((pathlib.Path(__file__).parents[2] / "fixtures/graph_gradients.json").read_text())["answers"]
REPLICAS = [(name, count) for name, counts in COUNTS.items() for count in counts]


def agree(result, answers):
    leaves = tf.nest.flatten(result)
    assert [one is None for one in answers] == [leaf is None for leaf in leaves]
    for leaf, answer in zip(leaves, answers, strict=True):
        if answer is not None:
            np.testing.assert_allclose(np.asarray(leaf), answer, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_gives_what_tensorflow_gives(name):
    agree(answered(tf, name), ANSWERS[name])


@pytest.mark.parametrize(("name", "count"), REPLICAS)
def test_it_does_so_in_replicas(name, count):
    with tf.using("simulator", cpus=count):
        strategy = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(count)])
        agree(answered_in_replicas(tf, name, strategy), ANSWERS[f"{name} {count}"])


def test_it_does_so_on_jax():
    with tf.using("jax", cpus=2):
        strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
        agree(answered_in_replicas(tf, "through_collectives", strategy), ANSWERS["through_collectives 2"])


@pytest.mark.parametrize("name", REFUSED)
def test_it_refuses_what_tensorflow_refuses(name):
    with pytest.raises(Exception, match=r"gradients\(\) got .*; expected .*\.") as raised:
        tf.function(REFUSED[name])(tf, tf.constant(3.0))

    assert ANSWERS[name] == type(raised.value).__name__


@pytest.mark.parametrize("name", ["gradients", "hessians"])
def test_outside_of_functions_it_is_refused_as_in_tensorflow(name):
    x = tf.constant(3.0)
    with pytest.raises(RuntimeError, match=rf"tf\.{name}\(\) was called outside of a tf\.function; expected"):
        getattr(tf, name)(x * x, x)
    with tf.GradientTape() as tape, pytest.raises(RuntimeError, match=r"outside of a tf\.function"):
        tape.watch(x)
        getattr(tf, name)(x * x, x)


def test_it_is_refused_where_functions_run_eagerly():
    tf.config.run_functions_eagerly(True)
    try:
        with pytest.raises(RuntimeError, match=r"outside of a tf\.function"):
            tf.function(lambda x: tf.gradients(x * x, x))(tf.constant(3.0))
    finally:
        tf.config.run_functions_eagerly(False)


def test_the_body_is_called_once():
    calls = []

    @tf.function
    def slope(x):
        calls.append(x)
        return tf.gradients(x * x, x)[0]

    assert [float(slope(tf.constant(value))) for value in (3.0, 4.0)] == [6.0, 8.0]
    assert len(calls) == 1
    assert slope.experimental_get_tracing_count() == 1


def test_a_call_that_cannot_be_seen_before_counts_as_one_trace():
    name = "gradients"
    slope = tf.function(lambda x: getattr(tf, name)(x * x, x)[0])

    assert [float(slope(tf.constant(value))) for value in (3.0, 4.0)] == [6.0, 8.0]
    assert slope.experimental_get_tracing_count() == 1


def test_tensors_from_outside_are_sources_too():
    scale = tf.constant([2.0, 3.0])
    slope = tf.function(lambda x: tf.gradients(x * scale * scale + tf.square(scale), scale)[0])

    np.testing.assert_allclose([16.0, 24.0], slope(tf.constant(3.0)))
    np.testing.assert_allclose([4.0, 9.0], scale * scale)


def test_a_function_under_a_tape_may_ask():
    x, v = tf.constant(3.0), tf.Variable(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.function(lambda x: tf.gradients(x * x * x * v, x)[0])(x)

    assert [36.0, 27.0] == [float(one) for one in tape.gradient(y, [x, v])]


def test_a_body_that_runs_in_python_may_ask():
    v = tf.Variable(2.0)

    @tf.function
    def total(x):
        result = tf.constant(0.0)
        for row in tf.data.Dataset.from_tensor_slices([1.0, 2.0]):  # which only Python can go over
            result += tf.gradients(row * x * x * v, [x])[0] + tf.gradients(row * v, v)[0]
        return result

    assert 3 * 2 * 3 * 2 + 3 == float(total(tf.constant(3.0)))


@pytest.fixture
def strategy():
    with tf.using("simulator", cpus=2):
        yield tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def test_it_is_told_that_values_of_all_replicas_are_no_targets(strategy):
    with strategy.scope():
        v = tf.Variable(2.0)

    @tf.function
    def slope():
        return tf.gradients(strategy.run(lambda: v * v), v)

    with pytest.raises(
        TypeError, match=r"got ys with a value for each replica.*Call it in the function that strategy.run"
    ):
        slope()


def test_it_is_told_that_a_merge_function_is_not_recorded(strategy):
    def merged(_, x):
        y = tf.constant(2.0)
        return tf.gradients(y * y, y)

    def step(x):
        return tf.distribute.get_replica_context().merge_call(merged, args=(x,))

    with pytest.raises(RuntimeError, match="where the body of its function is not recorded"):
        tf.function(lambda x: strategy.run(step, args=(x,)))(tf.constant(1.0))


@pytest.mark.parametrize("once", [False, True])
def test_it_is_told_that_what_several_replicas_have_made_is_no_target(strategy, once):
    with strategy.scope():
        v = tf.Variable(2.0)

    def in_merge(x):
        total = tf.distribute.get_replica_context().merge_call(
            lambda s, y: s.reduce("SUM", y, axis=None), args=(x * v,)
        )
        return tf.gradients(total * total, v)[0]

    def outside(x):
        return tf.gradients(3.0 * strategy.reduce("SUM", strategy.run(lambda x: v * x, args=(x,)), axis=None), [v])

    for body in (outside, lambda x: strategy.run(in_merge, args=(x,))):
        with pytest.raises(
            RuntimeError, match=r"ys that several replicas have made together.*Call it in the function that"
        ):
            tf.function(body, trace_once=once)(tf.constant(1.0))
