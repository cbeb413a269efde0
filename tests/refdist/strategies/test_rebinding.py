"""Tests of what is told where a replica binds the name of a variable to something else."""

import pytest

import refdist as tf
from refdist._core.strategies.rebinding import QUIET, watched
from tests.zoo.ways import both_ways, mirrored, runner


@both_ways
def test_a_name_of_the_closure_that_is_bound_anew_is_found(way):
    strategy = mirrored(2)
    with strategy.scope():
        count = kept = tf.Variable(0.0)

    def step():
        nonlocal count
        count = count + 1.0

    with pytest.raises(RuntimeError, match="'count', the variable"):
        runner(strategy, way)(step)
    assert count is kept


@both_ways
def test_other_attributes_may_be_bound(way):
    strategy = mirrored(2)

    class Model:
        calls = 0

        def step(self):
            self.calls = self.calls + 1
            self.weight.assign(tf.constant(2.0))

    model = Model()
    with strategy.scope():
        model.weight = tf.Variable(0.0)
    runner(strategy, way)(model.step)

    assert 2.0 == float(model.weight)


def test_functions_that_bind_nothing_are_remembered_as_quiet():
    def quiet(x):
        return x + 1

    assert watched(quiet) is None
    assert quiet.__code__ is QUIET[id(quiet.__code__)]


def test_a_method_that_the_function_calls_is_looked_into():
    strategy = mirrored(2)

    class Model:
        def update(self):
            self.count = self.count + 1.0

    model = Model()
    with strategy.scope():
        model.count = tf.Variable(0.0)

    with pytest.raises(RuntimeError, match=r"count', the variable .* was replaced"):
        strategy.run(lambda: model.update())


def test_a_dict_with_the_name_of_an_attribute_is_not_mixed_up_with_it():
    strategy = mirrored(2)
    with strategy.scope():
        state = {"count": tf.Variable(0.0)}

    class Model:
        count = 0

    model = Model()

    def step():
        model.count = 1
        return state["count"] + 1.0

    strategy.run(step)

    assert 1 == model.count
