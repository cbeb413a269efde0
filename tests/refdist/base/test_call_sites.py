"""Where a meeting is: by the text of the call, whatever Python makes of it, and never below C++ code."""

import jax
import numpy as np
import optree
import pytest

import refdist as tf
from refdist._core.base.call_sites import Place, where

RUNS = 40  # Python specialises a call after a few


@pytest.fixture
def strategy():
    with tf.using("simulator", gpus=2):
        yield tf.distribute.MirroredStrategy()


def summed(x):
    return tf.distribute.get_replica_context().all_reduce("SUM", x)


def numbers(result):
    return [[float(value) for value in one.values] for one in result]


def by_map():
    return tuple(map(summed, [tf.constant(1.0), tf.constant(2.0)]))


def by_sorting():
    return sorted([tf.constant(2.0), tf.constant(1.0)], key=lambda x: float(summed(x)))


def by_text():
    places = {"summed": summed, "tf": tf}
    exec("a = summed(tf.constant(1.0))\nb = summed(tf.constant(2.0))", places)
    return places["a"], places["b"]


def by_comprehension():
    return [summed(tf.constant(float(number))) for number in (1, 2)]


@pytest.mark.parametrize("step", [by_map, by_sorting, by_text, by_comprehension], ids=lambda step: step.__name__)
def test_a_call_stays_the_same_call_however_often_it_runs(strategy, step):
    expected = [[1.0, 1.0], [2.0, 2.0]] if step is by_sorting else [[2.0, 2.0], [4.0, 4.0]]
    for _ in range(RUNS):
        assert expected == numbers(strategy.run(step))


def test_two_calls_in_one_line_are_two_places(strategy):
    def step():
        first = tf.distribute.get_replica_context().replica_id_in_sync_group == 0
        return summed(tf.constant(1.0)) if first else summed(tf.constant(2.0))

    with pytest.raises(tf.errors.MeetingError, match="do not meet"):
        strategy.run(step)


@pytest.mark.parametrize("count", [1, 2, 7])
@pytest.mark.parametrize("tree_map", [tf.nest.map_structure, jax.tree.map], ids=["refdist", "jax"])
def test_replicas_meet_in_a_function_that_is_mapped_over_a_nest(count, tree_map):
    with tf.using("simulator", gpus=count):
        one = tf.constant(1.0)
        result = tf.distribute.MirroredStrategy().run(lambda: tree_map(summed, {"a": one, "b": [one, (one,)]}))

    assert [float(count)] * 3 == [float(tf.nest.flatten(leaf)[0]) for leaf in first_components(result)]


def first_components(result):
    return [leaf.values[0] if hasattr(leaf, "values") else leaf for leaf in tf.nest.flatten(result)]


def below_optree(x):
    return optree.tree_map(summed, {"a": x})


def below_a_callback(x):
    return jax.pure_callback(lambda y: np.asarray(summed(tf.constant(y))), jax.ShapeDtypeStruct((), np.float32), x)


@pytest.mark.parametrize("step", [below_optree, below_a_callback], ids=lambda step: step.__name__)
def test_a_replica_that_would_pause_below_foreign_code_is_told_so(strategy, step):
    with pytest.raises(Exception, match=r"below C\+\+ code.*test_call_sites\.py"):
        strategy.run(step, args=(np.float32(1.0),))

    assert [[2.0, 2.0]] == numbers([strategy.run(summed, args=(tf.constant(1.0),))])


def test_variables_are_made_below_foreign_code_because_nobody_pauses_there(strategy):
    with strategy.scope():
        made = strategy.run(lambda: optree.tree_map(lambda x: tf.Variable(x), {"a": 1.0, "b": 2.0}))

    assert [1.0, 2.0] == [float(variable) for variable in made.values()]


def test_a_long_site_is_printed_with_the_lines_of_the_program_itself():
    library = tuple(Place("/lib/site-packages/keras/layer.py", "save", line, 0) for line in range(8))
    program = Place("/home/train.py", "main", 12, 0)

    assert "/home/train.py:12, in main" in where((*library, program))
    assert 6 == where((program,) * 9).count("train.py")
