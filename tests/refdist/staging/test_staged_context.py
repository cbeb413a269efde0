"""Merge functions in a draft see what they see outside of functions: one tensor where all replicas have got the same."""

import numpy as np
import pytest

import refdist as tf
from tests.refdist import staged_programs
from tests.refdist.staged_programs import ctx, numbers

names, strategy = staged_programs.names, staged_programs.strategy  # fixtures

WAYS = {
    "eager": lambda strategy, fn: strategy.run(fn),
    "around": lambda strategy, fn: tf.function(lambda: strategy.run(fn))(),
    "inside": lambda strategy, fn: strategy.run(tf.function(fn)),
    "once": lambda strategy, fn: tf.function(lambda: strategy.run(fn), trace_once=True)(),
}


@pytest.fixture(params=WAYS)
def run(request, strategy):
    return lambda fn: WAYS[request.param](strategy, fn)


def one_for_all():
    return ctx().merge_call(lambda s, x: s.reduce("SUM", x, axis=None), args=(tf.constant([1.0, 2.0]),))


def slices_for_all():
    return ctx().merge_call(lambda s: tf.IndexedSlices(tf.constant([[3.0]]), tf.constant([1]), tf.constant([2, 1])))


def test_a_value_that_all_replicas_have_got_is_one_value_in_the_next_merge_function(run):
    """As in TensorFlow, where the second merge function gets a tensor, and returns one, in every mode."""
    mean = run(lambda: ctx().merge_call(lambda s, x: s.extended.reduce_to("MEAN", x, x), args=(one_for_all(),)))

    assert [2.0, 4.0] == np.asarray(mean).tolist()


def test_slices_that_all_replicas_have_got_are_one_value_too(run):
    slices = run(lambda: ctx().merge_call(lambda s, x: s.extended.reduce_to("MEAN", x, x), args=(slices_for_all(),)))

    assert isinstance(slices, tf.IndexedSlices)
    assert [[0.0], [3.0]] == np.asarray(tf.convert_to_tensor(slices)).tolist()


def test_a_value_that_all_replicas_have_got_cannot_be_added_up(run):
    with pytest.raises(ValueError, match="A plain value"):
        run(lambda: ctx().merge_call(lambda s, x: s.reduce("SUM", x, axis=None), args=(one_for_all(),)))


@pytest.mark.parametrize("way", ["eager", "around", "inside"])
@pytest.mark.parametrize("op", ["SUM", "MEAN"])
def test_where_some_replicas_have_values_of_their_own_all_are_combined(strategy, way, op):
    def body():
        got = one_for_all()
        own = got + tf.constant(2.0) if ctx().replica_id_in_sync_group else got
        return ctx().merge_call(lambda s, x: s.reduce(op, x, axis=None), args=(own,))

    total = np.asarray(WAYS[way](strategy, body))

    assert [6.0, 10.0] == (total if op == "SUM" else total * 2).tolist()


@pytest.mark.parametrize("way", ["eager", "around"])
def test_a_tensor_from_outside_that_all_return_is_one_tensor(strategy, way):
    outside = tf.constant([1.0, 2.0])
    merged = WAYS[way](strategy, lambda: ctx().merge_call(lambda s, x: x, args=(outside,)))

    assert [[1.0, 2.0]] == numbers(strategy, WAYS[way](strategy, lambda: outside)) == numbers(strategy, merged)
