"""A journal is told of everything that replicas do together, and of every variable that is made or written."""

import pathlib

import numpy as np
import pytest

import refdist as tf
from refdist._core.base.where import HERE
from refdist._core.testing.recorded_journal import users_place
from refdist.testing import Made, Met, Ran, Written, journal

COUNTS = [1, 2, 4]


def told(program, replicas, **options):
    with tf.using("simulator", gpus=replicas), journal(**options) as events:
        program(tf.distribute.MirroredStrategy())
    return events


def kinds(events, kind):
    return [event for event in events if isinstance(event, kind)]


def line_of(event):
    return users_place(event.site).line


def line_with(text):
    lines = pathlib.Path(__file__).read_text().splitlines()
    return 1 + next(number for number, line in enumerate(lines) if line.endswith(f"# {text}"))


def replica():
    return tf.distribute.get_replica_context()


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("wrap", [lambda function: function, tf.function])
def test_a_meeting_is_told_with_what_each_replica_brings_and_gets_and_with_its_line(count, wrap):
    def program(strategy):
        def step():
            return replica().all_reduce("SUM", tf.constant(2.0))  # reduced here

        wrap(lambda: strategy.run(step))()

    events = told(program, count)
    (met,) = kinds(events, Met)

    assert met.kind == "all_reduce(SUM)"
    assert met.brought == ((np.float32(2.0),),) * count
    assert met.answers == ((np.float32(2.0 * count),),) * count
    assert line_of(met) == line_with("reduced here")
    assert [ran.replicas for ran in kinds(events, Ran)] == [count]


@pytest.mark.parametrize("count", COUNTS)
def test_a_write_in_replicas_is_told_with_its_verb_values_and_line(count):
    def program(strategy):
        with strategy.scope():
            w = tf.Variable(1.0, name="w", aggregation=tf.VariableAggregation.SUM)

        def step():
            w.assign_add(tf.constant(2.0))  # written here

        strategy.run(step)

    events = told(program, count)
    (made,), (written,) = kinds(events, Made), kinds(events, Written)

    assert (made.number, made.name, float(made.value)) == (0, "w:0", 1.0)
    assert (written.number, written.verb, written.own_copies) == (0, "assign_add", "")
    assert float(written.before[0]) == 1.0
    assert float(written.after[0]) == 1.0 + 2.0 * count
    assert line_of(written) == line_with("written here")


@pytest.mark.parametrize("count", COUNTS)
def test_each_replica_tells_of_its_own_copy(count):
    def program(strategy):
        with strategy.scope():
            seen = tf.Variable(
                0.0,
                synchronization=tf.VariableSynchronization.ON_READ,
                aggregation=tf.VariableAggregation.SUM,
            )
        strategy.run(lambda: seen.assign_add(1.0))
        assert float(seen.read_value()) == count

    events = told(program, count)
    copies = [(one.copy, float(one.after[0])) for one in kinds(events, Written)]

    assert copies == [(index, 1.0) for index in range(count)]
    assert all(one.own_copies == ("SUM" if count > 1 else one.own_copies) for one in kinds(events, Written))


@pytest.mark.parametrize("count", COUNTS)
def test_what_merge_call_updates_has_the_line_in_the_function_that_updates(count):
    def program(strategy):
        with strategy.scope():
            w = tf.Variable(1.0)

        def merge(strategy, value):
            total = strategy.extended.reduce_to("SUM", value, w)  # combined here
            strategy.extended.update(w, lambda copy, total: copy.assign(total), args=(total,))  # updated here

        strategy.run(lambda: replica().merge_call(merge, (tf.constant(3.0),)))

    events = told(program, count)

    assert {line_of(event) for event in kinds(events, Written)} == {line_with("updated here")}
    assert [event.copy for event in kinds(events, Written)] == list(range(count))
    assert [line_of(event) for event in kinds(events, Met) if event.kind == "reduce(SUM)"] == [
        line_with("combined here")
    ]


@pytest.mark.parametrize("count", COUNTS)
def test_reductions_and_gathers_from_outside_are_told(count):
    def program(strategy):
        value = strategy.experimental_distribute_values_from_function(
            lambda context: tf.constant([1.0 + context.replica_id_in_sync_group])
        )
        strategy.reduce("SUM", value, axis=None)
        strategy.gather(value, axis=0)
        with strategy.scope():
            strategy.extended.batch_reduce_to("MEAN", [(value, "CPU:0"), (value, "CPU:0")])

    total, whole, *means = kinds(told(program, count), Met)

    assert (total.kind, float(total.answers[0][0][0])) == ("reduce(SUM)", sum(range(1, count + 1)))
    assert (whole.kind, whole.answers[0][0].tolist()) == ("gather(axis=0)", list(range(1, count + 1)))
    assert [mean.kind for mean in means] == ["reduce(MEAN)"] * 2


@pytest.mark.parametrize("count", COUNTS)
def test_what_a_compiled_program_writes_is_told_without_a_verb(count):
    def program(strategy):
        with strategy.scope():
            w = tf.Variable(1.0, name="w", aggregation=tf.VariableAggregation.MEAN)
        tf.function(lambda: strategy.run(lambda: w.assign_add(tf.constant(1.0))))()

    (written,) = kinds(told(program, count, in_python=False), Written)

    assert (written.name, written.verb, [float(one) for one in written.after]) == ("w:0", "", [2.0] * count)


def test_a_meeting_that_fails_is_not_told_and_leaves_the_journal_in_order():
    def program(strategy):
        def fail(strategy):
            raise ValueError("planted")

        with pytest.raises(ValueError, match="planted"):
            strategy.run(lambda: replica().merge_call(fail))
        strategy.run(lambda: replica().all_reduce("SUM", tf.constant(1.0)))

    assert [met.kind for met in kinds(told(program, 2), Met)] == ["all_reduce(SUM)"]


def test_values_that_were_told_do_not_change_later():
    with journal() as events:
        w = tf.Variable([1.0, 2.0])
        w.assign([3.0, 4.0])
        w.assign([5.0, 6.0])

    assert [one.before[0].tolist() for one in kinds(events, Written)] == [[1.0, 2.0], [3.0, 4.0]]


def test_after_the_block_nothing_is_told_and_functions_are_compiled_again():
    with journal() as events:
        inside = tf.function(tf.executing_eagerly)()
    tf.Variable(1.0).assign(2.0)

    assert inside
    assert not tf.function(tf.executing_eagerly)()
    assert events.events == []
    assert HERE.get().journal is None
