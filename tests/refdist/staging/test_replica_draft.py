"""Variables in traces: read, written, made, and kept equal."""

import copy

import numpy as np
import pytest

import refdist as tf
from tests.refdist import staged_programs
from tests.refdist.staged_programs import COUNTS, MEAN, ON_READ, SUM, ctx, numbers

names, strategy = staged_programs.names, staged_programs.strategy  # fixtures


@pytest.mark.parametrize("count", COUNTS)
def test_variables_change_as_in_eager_code(names, count):
    strategy = tf.distribute.MirroredStrategy(names[:count])
    with strategy.scope():
        total = tf.Variable(0.0, aggregation=SUM)
        own = tf.Variable(0.0, synchronization=ON_READ, aggregation=SUM)

    @tf.function
    def step(x):
        own.assign_add(x)
        return total.assign_add(x) + 0.0

    for _ in range(3):
        result = strategy.run(step, args=(tf.constant(2.0),))

    assert [6.0 * count] * count == numbers(strategy, result) == numbers(strategy, total)
    assert [6.0] * count == numbers(strategy, own)
    assert 6.0 * count == float(own.read_value())


def test_eager_and_staged_writes_take_turns(strategy):
    with strategy.scope():
        v = tf.Variable([1.0, 1.0], aggregation=MEAN)
        own = tf.Variable(0.0, synchronization=ON_READ, aggregation=SUM)

    @tf.function
    def step(x):
        v.assign_add(x)
        own.assign_add(1.0)

    strategy.run(step, args=(tf.constant([1.0, 2.0]),))
    v.assign_add([1.0, 1.0])
    strategy.run(lambda: own.assign_add(10.0) if ctx().replica_id_in_sync_group else None)
    kept = v.read_value()
    strategy.run(step, args=(tf.constant([1.0, 2.0]),))

    assert [[4.0, 6.0]] * 2 == numbers(strategy, v)
    assert [2.0, 12.0] == numbers(strategy, own)
    assert [3.0, 4.0] == np.asarray(kept).tolist()


def test_a_copied_variable_keeps_what_a_program_has_written(strategy):
    with strategy.scope():
        v = tf.Variable(1.0, aggregation=MEAN)
    strategy.run(tf.function(lambda: v.assign(tf.constant(5.0))))
    other = copy.deepcopy(v)
    strategy.run(tf.function(lambda: v.assign(tf.constant(6.0))))

    assert ([5.0] * 2, [6.0] * 2) == (numbers(strategy, other), numbers(strategy, v))


def test_variables_are_made_on_the_first_call_only(strategy):
    made, calls = [], []

    @tf.function
    def count(x):
        calls.append(1)
        if not made:
            made.append(tf.Variable(10.0, aggregation=SUM))
        return made[0].assign_add(x)

    with strategy.scope():
        first = strategy.run(count, args=(tf.constant(1.0),))
        second = strategy.run(count, args=(tf.constant(1.0),))

    assert "MirroredVariable" == type(made[0]).__name__
    assert [[12.0] * 2, [14.0] * 2] == [numbers(strategy, first), numbers(strategy, second)]
    assert 2 * 2 == len(calls)  # to make it, and to write the program


def test_a_single_trace_for_all_replicas_makes_variables_too(strategy):
    made = []

    @tf.function(trace_once=True)
    def step(x):
        if not made:
            made.extend(tf.Variable(start, aggregation=MEAN) for start in (1.0, 10.0))
        return made[0].assign_add(x) + made[1]

    results = [strategy.run(step, args=(tf.constant(2.0),)) for _ in range(2)]

    assert [[13.0] * 2, [15.0] * 2] == [numbers(strategy, result) for result in results]
    assert ["MirroredVariable"] * 2 == [type(variable).__name__ for variable in made]


def test_a_variable_made_in_each_call_is_refused(names):
    @tf.function
    def wrong():
        return tf.Variable(1.0) + 1.0

    with pytest.raises(ValueError, match="a second time"):
        wrong()


def test_a_variable_made_after_the_first_call_is_refused(strategy):
    made = []

    @tf.function
    def late(x):
        if x.ndim and not made:
            made.append(tf.Variable(1.0))
        return x

    late(tf.constant(1.0))
    with pytest.raises(ValueError, match="in the first call only"):
        late(tf.constant([1.0]))
    made.clear()
    with pytest.raises(ValueError, match="in the first call only"):
        strategy.run(late, args=(tf.constant([1.0]),))


@pytest.mark.parametrize("dtype", ["int64", "uint64", "float64", "complex128"])
def test_a_cast_is_as_wide_in_a_function_as_outside(dtype):
    for count in (0, 2):
        zeros = tf.zeros([count])

        assert dtype == tf.cast(zeros, dtype).dtype.name == tf.function(lambda x: tf.cast(x, dtype))(zeros).dtype.name


def test_copies_that_would_come_apart_are_refused_and_nothing_is_written(strategy):
    with strategy.scope():
        v, w = tf.Variable(1.0), tf.Variable(1.0)

    @tf.function
    def step(x):
        w.assign(tf.constant(7.0))
        v.assign(x)

    with pytest.raises(ValueError, match="different values"):
        strategy.run(step, args=(strategy.run(lambda: tf.constant(1.0) * ctx().replica_id_in_sync_group),))
    assert ([1.0] * 2, [1.0] * 2) == (numbers(strategy, v), numbers(strategy, w))

    strategy.run(step, args=(strategy.run(lambda: tf.constant(3.0)),))
    assert [3.0] * 2 == numbers(strategy, v)


def test_a_number_from_every_replica_is_no_sum(strategy):
    with strategy.scope():
        v = tf.Variable(1.0, aggregation=SUM)

    with pytest.raises(ValueError, match="not clear whether"):
        strategy.run(tf.function(lambda: v.assign_add(2.0)))


def test_slices_are_written_as_in_eager_code(strategy):
    with strategy.scope():
        variables = [tf.Variable(np.zeros((3, 2), np.float32), aggregation=a) for a in (SUM, MEAN, SUM, MEAN)]

    def body():
        number = ctx().replica_id_in_sync_group
        slices = tf.IndexedSlices(tf.ones([2, 2]) * (number + 1.0), tf.constant([number, 2]))
        for v in variables[:2] if staging else variables[2:]:
            v.scatter_add(slices)
            v.scatter_sub(tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0])))

    staging = False
    strategy.run(body)
    staging = True
    strategy.run(tf.function(body))

    for staged, eager in zip(variables[:2], variables[2:], strict=True):
        assert numbers(strategy, eager) == numbers(strategy, staged)


def test_a_variable_of_another_strategy_is_read_and_written(names):
    one, two = tf.distribute.MirroredStrategy(names[:2]), tf.distribute.MirroredStrategy(names[2:5])
    with one.scope():
        v = tf.Variable(3.0)

    @tf.function
    def outside(x):
        v.assign_add(tf.constant(1.0))
        return two.reduce("SUM", two.run(lambda: x * 1.0), axis=None) + v

    assert 3 * 2.0 + 4.0 == float(outside(tf.constant(2.0)))
    assert [4.0] * 2 == numbers(one, v)


def test_a_variable_of_another_backend_is_refused(names):
    with tf.using("host"):
        v = tf.Variable(1.0)

    with pytest.raises(ValueError, match="same backend"):
        tf.function(lambda x: x + v)(tf.constant(1.0))
