"""One program from what each replica's function does by itself: its results, its writes, and where replicas disagree."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import refdist as tf
from refdist._core.replicas.values import PerReplica
from tests.refdist import staged_programs
from tests.refdist.staged_programs import ON_READ, SUM, ctx, numbers

names, strategy = staged_programs.names, staged_programs.strategy  # fixtures


def number():
    return ctx().replica_id_in_sync_group


def test_constants_of_a_replica_are_combined(strategy):
    with strategy.scope():
        v = tf.Variable(0.0, aggregation=SUM)

    def replica():
        v.assign_add(tf.constant(number() + 1.0))
        return ctx().all_reduce("SUM", tf.constant(float(number()))), ctx().all_gather(tf.constant([number()]), axis=0)

    total, joined = strategy.run(tf.function(replica))

    assert [1.0, 1.0] == numbers(strategy, total)
    assert [[0, 1], [0, 1]] == numbers(strategy, joined)
    assert [3.0, 3.0] == numbers(strategy, v)


def test_each_replica_runs_its_own_function(strategy):
    functions = [tf.function(lambda x: x + 1.0), tf.function(lambda x: x * 10.0)]

    def replica(x):
        around = tf.function(lambda y: ctx().all_reduce("SUM", y) * (x + number()))
        return functions[number()](x), around(x)

    own, closed = strategy.run(replica, args=(tf.constant(2.0),))

    assert [3.0, 20.0] == numbers(strategy, own)
    assert [8.0, 12.0] == numbers(strategy, closed)


def test_merge_call_gives_each_replica_its_own(strategy):
    def merged(strategy):
        return strategy.experimental_distribute_values_from_function(
            lambda context: tf.constant(float(context.replica_id_in_sync_group))
        )

    assert [0.0, 1.0] == numbers(strategy, strategy.run(tf.function(lambda: ctx().merge_call(merged))))
    with pytest.raises(ValueError, match="different Python values"):
        strategy.run(tf.function(lambda: ctx().merge_call(lambda s, n: n, args=(number(),))))


def test_replicas_that_call_back_call_their_own_function(strategy):
    def replica(x):
        factor = number() + 1
        shape = jax.ShapeDtypeStruct(x.shape, np.float32)
        return jax.pure_callback(lambda y: np.asarray(y * factor, np.float32), shape, x, vmap_method="sequential")

    assert [[1.0], [2.0]] == numbers(strategy, strategy.run(tf.function(replica), args=(tf.constant([1.0]),)))


@pytest.mark.timeout(120)
def test_a_loop_of_one_replica_is_not_run_by_the_others(strategy):
    def replica(x):
        if number() == 0:
            return x
        return jax.lax.while_loop(lambda y: y < 100.0, lambda y: y * 2.0, x)

    x = strategy.run(lambda: tf.constant(float(number())))

    assert [0.0, 128.0] == numbers(strategy, strategy.run(tf.function(replica), args=(x,)))


@pytest.fixture
def virtual():
    with tf.using("simulator", gpus=3):
        yield tf.distribute.MirroredStrategy()


def test_an_error_says_in_which_replica_it_was_raised(virtual):
    def replica():
        if number() == 1:
            raise KeyError("broken")

    with pytest.raises(KeyError) as raised:
        virtual.run(tf.function(replica))

    assert "raised in replica 1 of 3, while its function was traced" in raised.value.__notes__


def test_what_was_given_is_each_replicas_own_also_where_one_tensor_stands_for_all(virtual):
    given = virtual.run(lambda: tf.constant(1.0) * number())
    own, computed = tf.function(lambda x: virtual.run(lambda x: (x, x * 2), args=(x,)))(given)

    assert (PerReplica, PerReplica) == (type(own), type(computed))
    assert ([0, 1, 2], [0, 2, 4]) == (numbers(virtual, own), numbers(virtual, computed))


def test_results_keep_their_nest_and_equal_python_values_stay_bare(virtual):
    seen = []

    @tf.function
    def outer(x):
        result = virtual.run(lambda: {"a": (x + number(), None), "b": [3, "text", number()]})
        seen.append(result["b"])
        return result["a"]

    sums, nothing = outer(tf.constant(1.0))

    assert ([1, 2, 3], None) == (numbers(virtual, sums), nothing)
    assert [3, "text"] == seen[0][:2]
    assert (0, 1, 2) == tuple(seen[0][2].values)


@pytest.mark.parametrize("other", [None, "text"])
def test_a_tensor_from_some_replicas_and_something_else_from_others_is_refused(virtual, other):
    with pytest.raises(
        ValueError, match=r"in one place; expected a tensor from all of them, or from none\. Return one kind"
    ):
        tf.function(lambda x: virtual.run(lambda: x + 1 if number() else other))(tf.constant(1.0))


def test_nests_that_differ_between_replicas_are_refused(virtual):
    with pytest.raises((ValueError, TypeError), match=r"(?s)expected .*\."):
        tf.function(lambda x: virtual.run(lambda: (x, x) if number() else [x]))(tf.constant(1.0))


def test_results_of_different_shape_are_each_replicas_own_as_in_eager_code(virtual):
    result = tf.function(lambda x: virtual.run(lambda: jnp.ones(number() + 1) * x))(tf.constant(2.0))

    assert [[2], [2, 2], [2, 2, 2]] == numbers(virtual, result)


def test_a_variable_that_only_some_replicas_write_keeps_its_value_on_the_others(virtual):
    with virtual.scope():
        own, other = (tf.Variable([1.0, 1.0], synchronization=ON_READ, aggregation=SUM) for _ in range(2))

    @tf.function
    def step(x):
        if number() == 1:
            other.assign(x)
        if number() == 2:
            own.assign_add(x)
        if number() == 0:
            own.assign(own * 10)

    virtual.run(step, args=(tf.constant([5.0, 6.0]),))

    assert [[10, 10], [1, 1], [6, 7]] == numbers(virtual, own)
    assert [[1, 1], [5, 6], [1, 1]] == numbers(virtual, other)


def test_what_one_replica_has_written_is_not_read_by_the_next(virtual):
    with virtual.scope():
        own = tf.Variable(1.0, synchronization=ON_READ, aggregation=SUM)

    def step():
        own.assign_add(tf.constant(1.0) * number())
        return own.read_value()

    assert [1, 2, 3] == numbers(virtual, virtual.run(tf.function(step)))
    assert [1, 2, 3] == numbers(virtual, own)


def test_replicas_that_bring_different_numbers_of_slices_are_run_as_eager_ones(virtual):
    def joined(mode):
        def replica():
            count = number() + 1
            slices = tf.IndexedSlices(tf.ones([count]), tf.range(count), dense_shape=[3])
            return tf.convert_to_tensor(ctx().all_reduce("SUM", slices))

        return numbers(virtual, mode(lambda: virtual.run(replica))())

    assert [[3, 2, 1]] * 3 == joined(tf.function) == joined(lambda fn: fn)


def test_a_failed_draft_leaves_nothing_behind(virtual):
    with virtual.scope():
        variable = tf.Variable(1.0, aggregation=SUM)
    fail = [True]

    @tf.function
    def step(x):
        variable.assign_add(x)
        if fail and number() == 2:
            raise OSError("once")

    with pytest.raises(OSError, match="once"):
        virtual.run(step, args=(tf.constant(1.0),))
    fail.clear()
    virtual.run(step, args=(tf.constant(1.0),))

    assert [4.0] * 3 == numbers(virtual, variable)
