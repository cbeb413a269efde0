"""A program that is being written: who is in one, and what ends it."""

import inspect

import pytest

import refdist as tf
from refdist._core.base.where import HERE
from refdist._core.seam.draft import Draft, NeedsPython, NeedsWide, StagedRuns, leave_draft_for_data


def draft_of_a_function():
    """The draft that the code of a function sees."""
    seen = []
    tf.function(lambda: seen.append(HERE.get().draft) or tf.constant(1.0))()
    return seen[0]


@pytest.mark.parametrize("protocol", [Draft, StagedRuns])
def test_what_code_meets_in_a_function_keeps_the_protocol(protocol):
    thing = draft_of_a_function() if protocol is Draft else tf.function(lambda: 1)
    facts = [name for name in getattr(protocol, "__annotations__", {}) if not hasattr(thing, name)]
    different = [
        name
        for name, member in vars(protocol).items()
        if inspect.isfunction(member)
        and not name.startswith("_")
        and list(inspect.signature(member).parameters)[1:] != list(inspect.signature(getattr(thing, name)).parameters)
    ]

    assert ([], []) == (facts, different)


def test_code_is_eager_everywhere_but_in_functions_and_graphs():
    seen = []

    def note():
        seen.append(tf.executing_eagerly())
        return tf.constant(1.0)

    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.MirroredStrategy()
        note()
        strategy.run(note)
        eager, seen[:] = list(seen), []
        tf.function(note)()
        tf.function(lambda: strategy.run(note))()
        with tf.Graph().as_default():
            note()

    assert [True] * 3 == eager
    assert {False} == set(seen)
    assert tf.executing_eagerly(), "and again after them"


def test_data_read_in_a_draft_end_it_and_are_read_in_python():
    calls, ended = [], []

    @tf.function
    def body():
        try:
            leave_draft_for_data()
        except NeedsPython:
            ended.append("draft")
            raise
        calls.append("read")
        return tf.constant(2.0)

    leave_draft_for_data()  # outside of a draft it does nothing

    assert 2.0 == float(body())
    assert (["draft"], ["read"]) == (ended, calls)


@pytest.mark.parametrize("end", [NeedsWide, NeedsPython])
def test_what_ends_a_draft_is_not_caught_by_who_handles_errors(end):
    assert not issubclass(end, Exception)
    calls = []

    @tf.function
    def body():
        calls.append(1)
        try:
            if len(calls) == 1:
                raise end
        except Exception:
            raise AssertionError from None
        return tf.constant(3.0)

    assert 3.0 == float(body())
    assert 2 <= len(calls), "the draft was begun anew"
