"""Without a cluster there is no time; a recording then shows the order of events."""

import json

import pytest

import refdist as tf
import simulator
from refdist.testing import journal

ctx = tf.distribute.get_replica_context


@pytest.fixture
def strategy():
    with tf.using("simulator", gpus=4):
        yield tf.distribute.MirroredStrategy()


def events(recording, track):
    spans = recording.trace().by_track()[track]
    return [(span.name, span.start_seconds, span.end_seconds) for span in spans]


def total():
    return ctx().all_reduce("sum", tf.ones([10]))


def test_runs_and_meetings_are_one_event_each(strategy):
    with simulator.trace() as recording:
        result = strategy.run(total)
        strategy.reduce("mean", result, axis=None)
        strategy.run(total)

    expected = [
        ("step 1", 0, 2), ("total", 0, 1), ("all_reduce SUM 40 B", 1, 2), ("reduce MEAN 40 B", 2, 3),
        ("step 2", 3, 5), ("total", 3, 4), ("all_reduce SUM 40 B", 4, 5),
    ]  # fmt: skip
    assert expected == events(recording, "GPU:3")
    assert ["GPU:0 ... GPU:3, the same"] == [row.name for row in recording.trace().rows()]


def test_events_say_the_line_of_the_user(strategy):
    with simulator.trace() as recording:
        strategy.run(total)

    line = total.__code__.co_firstlineno + 1
    (meeting,) = [span for span in recording.trace().by_track()["GPU:0"] if span.category == "collective"]
    assert (("bytes", 40), ("line", f"test_order_of_events.py:{line}, in total")) == meeting.details


def test_functions_are_recorded_as_if_they_were_none(strategy):
    function = tf.function(lambda: strategy.run(total))
    function()
    with simulator.trace() as recording:
        function()

    assert [("step 1", 0, 2), ("total", 0, 1), ("all_reduce SUM 40 B", 1, 2)] == events(recording, "GPU:0")
    assert not tf.config.functions_run_eagerly()


def test_who_does_more_lets_the_others_wait(strategy):
    with strategy.scope():
        count = tf.Variable(
            0.0,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
            name="count",
        )

    def step():
        if ctx().replica_id_in_sync_group == 2:
            count.assign_add(1.0)
        total()

    with simulator.trace() as recording:
        strategy.run(step)

    assert ("wait", 1, 2) in events(recording, "GPU:1")
    assert ("assign_add count:0", 1, 2) in events(recording, "GPU:2")
    assert ["GPU:0, GPU:1, GPU:3, the same", "GPU:2"] == [row.name for row in recording.trace().rows()]


def test_a_write_to_all_copies_is_one_meeting(strategy):
    with strategy.scope():
        w = tf.Variable(0.0, aggregation=tf.VariableAggregation.MEAN, name="w")
    with simulator.trace() as recording:
        strategy.run(lambda: w.assign_add(tf.constant(1.0)))
        w.assign(2.0)

    meeting = next(span for span in recording.trace().by_track()["GPU:0"] if span.category == "collective")
    assert ("assign_add 4 B", "w:0") == (meeting.name, dict(meeting.details)["writes"])
    assert ("assign w:0", 2, 3) == events(recording, "GPU:0")[-1]


def test_what_it_shows_is_called_order_and_not_time(strategy):
    with simulator.trace() as recording:
        strategy.run(total)
    picture, told = recording._repr_svg_(), json.loads(recording.trace().to_json())["traceEvents"]

    assert "This is the order of events, not time." in picture
    assert "2 events" in picture
    assert " ms" not in picture
    assert "devices (order of events, not time)" in [event["args"].get("name") for event in told]
    assert not any("seconds" in event["args"] for event in told)
    assert "of 2 events" in recording.trace().summary()


def test_a_journal_around_it_is_still_told(strategy):
    with journal() as outer, simulator.trace() as recording:
        strategy.run(total)
    with journal() as alone:
        strategy.run(total)

    assert list(map(type, alone)) == list(map(type, outer))
    assert alone.events[1].site == outer.events[1].site
    assert recording.trace().spans


def test_a_meeting_that_fails_is_recorded_too(strategy):
    def fail(strategy):
        raise ArithmeticError

    with simulator.trace() as recording, pytest.raises(ArithmeticError):
        strategy.run(lambda: ctx().merge_call(fail))

    assert "fails" in events(recording, "GPU:0")[-1][0]


def test_other_backends_have_nothing_to_record():
    with (
        tf.using("host", cpus=1),
        pytest.raises(RuntimeError, match="without a cluster"),
    ):
        simulator.trace().__enter__()
