"""What goes wrong in the body of a function: where it is said, and what is left behind."""

import jax
import numpy as np
import pytest

import refdist as tf
from refdist._core.base.errors import MeetingError
from tests.refdist import staged_programs
from tests.refdist.staged_programs import MEAN, ctx, numbered, numbers

names, strategy = staged_programs.names, staged_programs.strategy  # fixtures


def test_errors_of_a_body_keep_their_line_and_name_the_replica(strategy):
    def fails(x):
        raise KeyError("here")

    with pytest.raises(KeyError, match="here") as caught:
        strategy.run(tf.function(fails), args=(tf.constant(1.0),))

    assert "fails" in [entry.name for entry in caught.traceback]
    assert any("replica 0 of 2" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(
    "body",
    [
        lambda x: 1 if x > 0 else 2,
        lambda x: np.asarray(x),
        lambda x: float(x),
        lambda x: [0, 1][x.astype(int)],
        lambda x: x.numpy(),
        lambda x: list(range(x.astype(int))),
        lambda x: np.zeros(2).__setitem__(0, x),
        lambda x: f"{x:.2f}",
    ],
    ids=["if", "numpy", "float", "index", "numpy()", "range", "item", "format"],
)
def test_a_body_that_cannot_be_traced_says_where_and_what_to_do(names, body):
    with pytest.raises(Exception, match=r"[Tt]rac|setting an array element") as caught:
        tf.function(body)(tf.constant(1.0))

    (note,) = [note for note in caught.value.__notes__ if "could not be traced" in note]
    assert "test_program.py" in note
    assert "jax.numpy" in note


def test_a_tensor_that_has_left_its_trace_says_what_to_do(strategy):
    kept = []
    strategy.run(tf.function(lambda x: kept.append(x * 2)), args=(tf.constant(1.0),))

    def leaked(x):
        return x + kept[0]

    with pytest.raises(Exception, match=r"[Tt]racer") as caught:
        strategy.run(tf.function(leaked), args=(tf.constant(1.0),))

    (note,) = [note for note in caught.value.__notes__ if "could not be traced" in note]
    assert "tf.Variable" in note
    assert "test_program.py" in note + str(caught.value)


def test_replicas_that_do_not_meet_are_an_error_that_names_the_lines(strategy):
    def wrong(x):
        if ctx().replica_id_in_sync_group:
            return ctx().all_reduce("MEAN", x)
        return ctx().all_reduce("SUM", x)

    with pytest.raises(MeetingError, match=r"all_reduce\(SUM\)(.|\n)*all_reduce\(MEAN\)") as caught:
        strategy.run(tf.function(wrong), args=(tf.constant(1.0),))
    assert "test_program.py" in str(caught.value)

    def missing(x):
        return ctx().all_reduce("SUM", x) if ctx().replica_id_in_sync_group else x

    with pytest.raises(MeetingError, match="returned"):
        strategy.run(tf.function(missing), args=(tf.constant(1.0),))


def test_a_write_inside_a_transformation_is_refused(strategy):
    with strategy.scope():
        v = tf.Variable(1.0, aggregation=MEAN)

    def wrong(x):
        return jax.grad(lambda y: v.assign(y * 2) + 0.0)(x)

    with pytest.raises(RuntimeError, match="inside a transformation"):
        strategy.run(tf.function(wrong), args=(tf.constant(1.0),))


def test_nests_of_different_shape_are_refused(strategy):
    with pytest.raises(ValueError, match="different shape"):
        strategy.run(tf.function(lambda: [1.0] * ctx().replica_id_in_sync_group))


def test_after_an_error_everything_is_as_before(strategy):
    with strategy.scope():
        v = tf.Variable(1.0, aggregation=MEAN)
    fails = [True]

    @tf.function
    def step(x):
        v.assign_add(x)
        if fails[0]:
            raise ValueError("now")

    with pytest.raises(ValueError, match="now"):
        strategy.run(step, args=(tf.constant(1.0),))
    assert [1.0] * 2 == numbers(strategy, v)
    assert tf.executing_eagerly()
    fails[0] = False
    strategy.run(step, args=(tf.constant(1.0),))
    assert [2.0] * 2 == numbers(strategy, v)


def test_a_value_of_another_number_of_replicas_is_refused(names):
    two, three = tf.distribute.MirroredStrategy(names[:2]), tf.distribute.MirroredStrategy(names[:3])

    for body in (lambda x: x, lambda x: x * 2):
        with pytest.raises(ValueError, match="2 components"):
            three.run(tf.function(body), args=(numbered(two),))
        with pytest.raises(ValueError, match="2 components"):
            tf.function(lambda x, body=body: three.run(body, args=(x,)))(numbered(two))
    with pytest.raises(ValueError, match="value of 2"):
        tf.function(lambda x: three.reduce("SUM", x, axis=None))(numbered(two))
