"""Calls wait in a graph until a session runs them."""

import numpy as np
import pytest

import refdist as tf

v1 = tf.compat.v1


@pytest.fixture
def strategy():
    with tf.using("simulator", gpus=2):
        yield v1.distribute.MirroredStrategy(["GPU:0", "GPU:1"])


def test_a_run_waits_for_the_session(strategy):
    seen = []

    def replica(x):
        seen.append(1)
        return x * 2.0

    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        assert not tf.executing_eagerly()
        result = strategy.run(replica, args=(tf.constant(3.0),))
        parts = strategy.experimental_local_results(result)
        total = strategy.reduce("SUM", result, axis=None) + 1.0
        assert [] == seen

        assert [6.0, 6.0] == session.run(list(parts))
        assert 2 == len(seen)
        assert (13.0, [6.0]) == session.run((total, [parts[0]]))
        assert 4 == len(seen)  # one run of the session makes each call once
    assert tf.executing_eagerly()


def test_an_iterator_gives_each_run_of_a_session_the_next_input(strategy):
    dataset = tf.data.Dataset.range(8).batch(4)
    with tf.Graph().as_default(), v1.Session() as session:
        iterator = strategy.make_dataset_iterator(dataset)
        result = strategy.experimental_run(lambda x: tf.reduce_sum(x), iterator)
        total = strategy.reduce("SUM", result)
        session.run(iterator.initialize())

        assert [6, 22] == [session.run(total), session.run(total)]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(total)
        session.run(iterator.initialize())
        assert 6 == session.run(total)


def test_arithmetic_waits_too():
    with tf.Graph().as_default() as graph, v1.Session() as session:
        x = graph.add("x", lambda: 3.0)

        assert [5.0, 1.0, 6.0, 1.5, 1.0, 1.0, 9.0, -1.0] == session.run(
            [x + 2, x - 2, 2 * x, x / 2, x // 2, x % 2, x**2, 2 - x]
        )
        assert 10.0 == session.run(x + 0, feed_dict={x: 10.0})
        with pytest.raises(TypeError, match="session"):
            bool(x)
        assert "'x'" in repr(x)


def test_only_the_arguments_of_calls_are_part_of_the_graph(strategy):
    array = np.ones(10_000, np.float32)
    with tf.Graph().as_default() as graph:
        strategy.experimental_make_numpy_dataset(array)
        before = len(graph.as_graph_def().SerializeToString())
        strategy.run(lambda x: x, args=(array,))

    assert before < 1000
    assert len(graph.as_graph_def().SerializeToString()) >= array.nbytes


def test_a_session_that_is_given_loads_numpy_data(strategy):
    array = np.arange(3)
    with tf.Graph().as_default() as graph:
        with tf.compat.v1.Session(graph=graph) as session:
            dataset = strategy.experimental_make_numpy_dataset(array, session)
        assert array.tobytes() not in graph.as_graph_def().SerializeToString()
        with pytest.raises(RuntimeError, match="closed session"):
            strategy.experimental_make_numpy_dataset(array, session)

    assert [0, 1, 2] == [int(element) for element in dataset]


def test_what_cannot_be_fetched_is_refused(strategy):
    with tf.Graph().as_default(), v1.Session() as session:
        result = strategy.run(lambda: tf.constant(1.0))
        with pytest.raises(TypeError, match="experimental_local_results"):
            session.run(result)
        session.close()
        with pytest.raises(RuntimeError, match="closed"):
            session.run(result)


def test_python_functions_get_numpy_values():
    assert 6.0 == float(v1.py_func(lambda x, y: x * y, [2.0, tf.constant(3.0)], tf.float32))
