"""A function under a tape is two programs, and gives what TensorFlow gives."""

import json
import pathlib

import numpy as np
import pytest

import refdist as tf
from tests.refdist.tape.call_programs import PROGRAMS, answered

ANSWERS = json.loads((pathlib.Path(__file__).parents[2] / "fixtures/call_gradients.json").read_text())["answers"]


@pytest.mark.parametrize(
    ("name", "backend"), [*((name, "simulator") for name in PROGRAMS), ("a_variable_that_is_written", "jax")]
)
def test_gradients_and_traces_are_those_of_tensorflow(name, backend):
    with tf.using(backend, cpus=1):
        leaves, traces = answered(tf, name)

    expected, count = ANSWERS[name]
    assert [one is None for one in expected] == [leaf is None for leaf in leaves]
    for leaf, answer in zip(leaves, expected, strict=True):
        if answer is not None:
            np.testing.assert_allclose(np.asarray(leaf), answer, rtol=2e-6, atol=1e-6)
    assert count == traces


def test_the_body_is_called_once_and_writes_once_in_each_call():
    v, count, calls = tf.Variable(2.0), tf.Variable(0, trainable=False), []

    @tf.function
    def cube(x):
        calls.append(x)
        count.assign_add(1)
        return v * x**3, tf.cast(x, tf.int32)

    for value in (3.0, 4.0):
        x = tf.constant(value)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y, whole = cube(x)
        assert [6 * value**2, value**3] == [float(one) for one in tape.gradient(y, [x, v])]
        assert int(value) == int(whole)

    assert (1, 2) == (len(calls), int(count))


def test_random_numbers_are_the_same_on_the_way_back():
    x = tf.Variable(tf.ones([100]))
    drop = tf.function(lambda: tf.nn.dropout(x, 0.5))
    with tf.GradientTape(persistent=True) as tape:
        y, again = drop(), drop()

    np.testing.assert_array_equal(y, tape.gradient(y, x))
    np.testing.assert_array_equal(again, tape.gradient(again, x))
    assert not np.array_equal(y, again)


def test_an_error_in_the_body_is_the_users_own():
    @tf.function
    def failing(x):
        raise KeyError("mine")

    with tf.GradientTape(), pytest.raises(KeyError, match="mine"):
        failing(tf.constant(1.0))


def test_branches_that_cannot_be_seen_before_are_converted():
    def branching(x):
        if x > 0.0:
            return x * x
        return -x

    hidden = {"one": branching}
    function = tf.function(lambda x: hidden["one"](x))
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)

    assert 6.0 == float(tape.gradient(y, x))


def test_elements_of_an_iterator_are_taken_one_by_one():
    v, rows = tf.Variable(2.0), iter(tf.data.Dataset.from_tensor_slices([1.0, 2.0, 3.0]))
    scaled = tf.function(lambda: next(rows) * v)
    slopes = []
    for _ in range(3):
        with tf.GradientTape() as tape:
            y = scaled()
        slopes.append(float(tape.gradient(y, v)))

    assert [1.0, 2.0, 3.0] == slopes


def test_in_replicas_it_runs_on_each_of_them():
    with tf.using("simulator", cpus=2):
        strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
        with strategy.scope():
            v = tf.Variable(2.0)
        square = tf.function(lambda x: v * x * x)

        def step(x):
            with tf.GradientTape() as tape:
                y = square(x)
            return tf.distribute.get_replica_context().all_reduce("SUM", tape.gradient(y, v))

        rows = strategy.experimental_distribute_values_from_function(
            lambda context: tf.constant(3.0 + context.replica_id_in_sync_group)
        )
        results = strategy.experimental_local_results(strategy.run(step, args=(rows,)))

    assert [25.0, 25.0] == [float(one) for one in results]
