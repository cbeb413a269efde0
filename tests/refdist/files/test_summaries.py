"""Event files hold what TensorFlow 2.21 writes into them, with TensorBoard's plugins."""

import numpy as np
import pytest

import refdist as tf
from refdist._core.files.messages import message
from refdist._core.files.tensor_bytes import tensor_message
from tests.refdist.files.event_files import events, nothing_set, values, writer

__all__ = ["nothing_set", "writer"]


def test_a_scalar_is_the_event_that_tensorflow_writes(writer, tmp_path):
    with writer.as_default():
        assert tf.summary.scalar("x", 1.5, step=3, description="D")
    [event] = events(tmp_path)
    expected = message("SummaryValue")(tag="x", tensor=tensor_message(np.array(1.5, np.float32)))
    expected.metadata.plugin_data.plugin_name = "scalars"
    expected.metadata.summary_description = "D"

    assert (3, expected) == (event.step, event.summary.value[0])
    assert event.wall_time > 0


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (lambda: tf.summary.scalar("v", 2, step=1), 2.0),
        (lambda: tf.summary.text("v", "hello", step=1), b"hello"),
        (lambda: tf.summary.text("v", ["a", "b"], step=1), [b"a", b"b"]),
        (lambda: tf.summary.histogram("v", [2.0, 2.0], 1, 2), [[2, 2, 0], [2, 2, 2]]),
        (lambda: tf.summary.histogram("v", [], 1, 2), [[0, 0, 0], [0, 0, 0]]),
        (lambda: tf.summary.histogram("v", [[1, 2], [3, 9]], 1, 2), [[1, 5, 3], [5, 9, 1]]),
        (lambda: tf.summary.histogram("v", [1.0, 2.0, 3.0], 1, 1), [[1, 3, 3]]),
        (lambda: tf.summary.write("v", [1, 2], step=1), [1, 2]),
    ],
)
def test_values_are_those_of_tensorflow(writer, tmp_path, record, expected):
    with writer.as_default():
        record()

    assert [(1, "v", expected)] == values(tmp_path)


def test_images_are_written_with_their_size(writer, tmp_path):
    with writer.as_default():
        tf.summary.image("v", np.full((5, 2, 4, 3), 0.5, np.float32), step=1, max_outputs=2)
    [(_, _, found)] = values(tmp_path)

    assert [b"4", b"2"] == found[:2]
    assert [127] * 2 == [int(np.max(tf.io.decode_png(one))) for one in found[2:]]


def test_names_have_the_prefix_of_their_scope(writer, tmp_path):
    with writer.as_default(), tf.name_scope("a"), tf.name_scope("b"):
        tf.summary.scalar("x", 1.0, step=1)
        with tf.summary.experimental.summary_scope("q") as (tag, scope):
            assert ("a/b/q", "a/b/q/") == (tag, scope)

    assert ["a/b/x"] == [tag for _, tag, _ in values(tmp_path)]


def test_a_condition_decides(writer, tmp_path):
    writer.set_as_default(step=1)
    for condition in (False, True, lambda: False, tf.constant(True)):
        with tf.summary.record_if(condition):
            tf.summary.scalar("x", 1.0)
    tf.summary.flush()

    assert 2 == len(values(tmp_path))


@pytest.mark.parametrize(
    ("record", "error"),
    [
        (lambda: tf.summary.scalar("x", 1.0), ValueError),
        (lambda: tf.summary.scalar("x", [1.0], step=1), ValueError),
        (lambda: tf.summary.scalar("x", 1.0, step=1.5), TypeError),
        (lambda: tf.summary.image("x", np.zeros((2, 2, 3)), step=1), ValueError),
        (lambda: tf.summary.text("x", 3, step=1), TypeError),
    ],
)
def test_what_tensorflow_refuses_is_refused(writer, record, error):
    with writer.as_default(), pytest.raises(error):
        record()


def test_the_first_replica_writes(any_backend, names, writer, tmp_path):
    strategy = tf.distribute.MirroredStrategy(names[:2])

    def step():
        number = tf.distribute.get_replica_context().replica_id_in_sync_group
        return tf.summary.scalar("x", 10.0 + number, step=1)

    with writer.as_default():
        recorded = strategy.experimental_local_results(strategy.run(step))

    assert [(1, "x", 10.0)] == values(tmp_path)
    assert [True, False] == [bool(one) for one in recorded]


def test_a_function_records_in_every_call_and_freezes_nothing(any_backend, names, writer, tmp_path):
    strategy = tf.distribute.MirroredStrategy(names[:2])

    @tf.function
    def step(number, count):
        strategy.run(lambda one: tf.summary.scalar("inside", one, step=count), args=(number,))
        with tf.summary.record_if(number > 1):
            tf.summary.scalar("outside", number, step=count)

    with writer.as_default():
        with pytest.warns(UserWarning, match="runs in Python"):
            step(tf.constant(0.0), tf.constant(0))
        for count in (1, 2):
            step(tf.constant(float(count)), tf.constant(count))

    assert [(0, "inside", 0.0), (1, "inside", 1.0), (2, "inside", 2.0), (2, "outside", 2.0)] == values(tmp_path)


def test_a_function_of_which_nothing_is_recorded_is_compiled(any_backend, names, writer, tmp_path):
    strategy, calls = tf.distribute.MirroredStrategy(names[:2]), []

    @tf.function
    def step(number):
        calls.append(number)
        strategy.run(lambda one: tf.summary.scalar("x", one, step=7), args=(number,))
        return tf.summary.should_record_summaries()

    def recorded(condition):
        before = len(calls)
        with tf.summary.record_if(condition):
            found = bool(step(tf.constant(1.0)))
        return found, len(calls) - before

    with writer.as_default():
        assert (False, 1) == recorded(False)
        assert (False, 0) == recorded(tf.constant(False))
        with pytest.warns(UserWarning, match="runs in Python"):
            assert recorded(True)[0]
        assert (False, 0) == recorded(np.bool_(False))
        assert (True, 1) == recorded(lambda: True)
        assert (False, 0) == recorded(False)
    assert (False, 1) == recorded(True), "without a writer"
    assert (False, 0) == recorded(True)

    assert [(7, "x", 1.0)] * 2 == values(tmp_path)


@pytest.mark.parametrize(
    "call", [tf.summary.trace_on, lambda: tf.summary.trace_export("x"), lambda: tf.summary.graph(None)]
)
def test_what_is_not_written_is_said_once(call):
    with pytest.warns(UserWarning, match="Nothing is written"):
        call()
    call()
    tf.summary.trace_off()
