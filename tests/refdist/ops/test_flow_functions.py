"""Branches and loops as functions: `tests/refdist/autograph/programs.py` has the answers of TensorFlow; here is the rest."""

import jax
import numpy as np
import pytest

import refdist as tf


@pytest.fixture(params=[lambda function: function, tf.function], ids=["eager", "staged"])
def called(request):
    return request.param


def test_a_case_without_a_default_needs_a_condition_that_holds(called):
    @called
    def found(x):
        return tf.case([(x > 5, lambda: x * 2), (x > 2, lambda: x * 3)])

    assert [12, 9] == [int(found(tf.constant(x))) for x in (6, 3)]
    with pytest.raises(tf.errors.InvalidArgumentError, match="None of the conditions"):
        found(tf.constant(1))


def test_a_body_returns_as_many_values_as_it_takes(called):
    @called
    def loop(n):
        return tf.while_loop(lambda i, j: i < n, lambda i, j: (i + 1, j, j), (tf.constant(0), tf.constant(0)))

    with pytest.raises(ValueError, match="returned 3 values; expected 2"):
        loop(tf.constant(2))


def test_a_single_value_need_not_be_in_a_list(called):
    assert [3] == [
        int(one) for one in called(lambda n: tf.while_loop(lambda i: i < n, lambda i: i + 1, [0]))(tf.constant(3))
    ]


def test_what_a_loop_carries_is_named_by_its_place():
    @tf.function
    def loop(n):
        return tf.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, tf.concat([x, x], 0)), (0, tf.zeros([1])))

    with pytest.raises(ValueError, match=r"'loop_vars\[1\]' has shape \(1,\) before the loop"):
        loop(tf.constant(3))


def test_tensors_without_rows(called):
    empty = tf.zeros([0, 2])
    if called is tf.function:
        assert (0, 2) == tf.function(lambda: tf.map_fn(lambda row: row * 2, empty))().shape
        return
    with pytest.raises(ValueError, match="tensors without rows"):
        tf.map_fn(lambda row: row * 2, empty)


def test_functions_of_loops_write_variables_and_are_converted(called):
    total = tf.Variable(0.0)

    @called
    def step(x):
        def row(one):
            if one > 1:
                total.assign_add(one)
            return one * total

        return tf.map_fn(row, x)

    assert [0.0, 4.0, 15.0] == [float(one) for one in step(tf.constant([1.0, 2.0, 3.0]))]
    assert 5.0 == total.numpy()


def test_loops_over_rows_can_be_differentiated():
    @tf.function
    def slope(x):
        return jax.grad(lambda y: tf.foldl(lambda total, row: total * row, y))(x)

    assert [6.0, 3.0, 2.0] == slope(tf.constant([1.0, 2.0, 3.0])).numpy().tolist()


def test_loops_over_rows_in_replicas():
    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.MirroredStrategy()
        own = strategy.experimental_distribute_values_from_function(
            lambda context: tf.constant([1.0, 2.0]) * (context.replica_id_in_sync_group + 1.0)
        )

        def step(x):
            context = tf.distribute.get_replica_context()
            return tf.scan(lambda total, row: total + context.all_reduce("sum", row), x, initializer=tf.constant(0.0))

        result = tf.function(lambda own: strategy.run(step, args=(own,)))(own)

        assert [[3.0, 9.0]] * 2 == [one.numpy().tolist() for one in strategy.experimental_local_results(result)]


@pytest.mark.parametrize("around", [lambda step: step, tf.function], ids=["eager", "staged"])
def test_nests_are_taken_apart_and_put_together(any_backend, around):
    step = around(lambda x, y: tf.map_fn(lambda one: {"sum": one[0] + one[1], "first": one[0]}, (x, y)))
    found = step(tf.constant([1, 2]), tf.constant([[3], [4]]))

    assert [[4], [6]] == np.asarray(found["sum"]).tolist()
    assert [1, 2] == np.asarray(found["first"]).tolist()
