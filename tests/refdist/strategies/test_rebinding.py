"""Tests of what is told where a replica binds the name of a variable to something else."""

import gc
import weakref
from types import MethodType

import pytest

import refdist as tf
from refdist._core.strategies.rebinding import QUIET, watched
from tests.lines import line_of
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


class Average:
    """A moving average in an attribute, where a variable should be."""

    def __init__(self, value):
        self.value, self.last, self.made = value, None, None

    def update(self, x):
        self.value = 0.9 * self.value + 0.1 * x  # goes on from what it was
        return self.value

    def keep(self, x):
        self.last = x * 2.0
        return self.last + 1.0

    def first_alone(self, x):
        if tf.distribute.get_replica_context().replica_id_in_sync_group == 0:
            self.value = self.value + 1
        return x


@both_ways
@pytest.mark.parametrize("value", [0.0, tf.constant(0.0)])
def test_a_tensor_that_each_replica_goes_on_from_is_found(way, value):
    strategy, average = mirrored(2), Average(value)

    with pytest.raises(RuntimeError, match=r"'self.value' was read and then bound to a tensor in replica \d") as raised:
        runner(strategy, way)(average.update, (tf.constant(1.0),))

    raised.match(rf"test_rebinding\.py:{line_of(__file__, '# goes on from what it was')}")
    assert average.value is value


@both_ways
def test_a_number_of_the_closure_that_each_replica_goes_on_from_is_found(way):
    strategy, total = mirrored(2), 0.0

    def step(x):
        nonlocal total
        total += x

    with pytest.raises(RuntimeError, match="'total' was read and then bound to a tensor"):
        runner(strategy, way)(step, (tf.constant(1.0),))
    assert 0.0 == total


@both_ways
@pytest.mark.parametrize("method", ["keep", "first_alone"])
def test_what_is_only_left_there_and_what_one_replica_alone_binds_is_silent(way, method):
    strategy, average = mirrored(2), Average(0)
    for _ in range(2):
        runner(strategy, way)(getattr(average, method), (tf.constant(1.0),))


def test_one_replica_may_go_on_from_its_own_tensor():
    strategy, average = mirrored(1), Average(0.0)
    for _ in range(2):
        strategy.run(average.update, (tf.constant(1.0),))

    assert 0.19 == pytest.approx(float(average.value))


def test_a_function_that_is_found_far_away_first_is_looked_into_from_nearby_too():
    strategy, average = mirrored(2), Average(0.0)

    def near(x):
        return average.update(x)

    def far(x):
        return near(x)

    def step(x):
        return far(x) + near(x)

    with pytest.raises(RuntimeError, match=r"'self\.value' was read and then bound"):
        strategy.run(step, (tf.constant(1.0),))


class _Kept:
    def __init__(self):
        self.last = None

    def update(self):
        self.last = tf.constant(1.0)


def test_a_name_that_refers_to_a_variable_only_later_is_told():
    strategy = mirrored(2)
    kept = _Kept()
    strategy.run(kept.update)
    strategy.run(kept.update)  # which is looked at as it was found the first time
    with strategy.scope():
        kept.last = tf.Variable(0.0)
    with pytest.raises(RuntimeError, match=r"'self\.last', the variable .* was replaced by a tensor in replica 0"):
        strategy.run(kept.update)


def test_a_function_that_was_put_in_the_place_of_another_is_looked_into():
    strategy = mirrored(2)
    with strategy.scope():
        kept = _Kept()
        kept.weight = tf.Variable(0.0)

    def harmless():
        kept.last = 1

    def harmful():
        kept.weight = tf.constant(1.0)

    called = harmless
    step = lambda: called()  # noqa: E731
    strategy.run(step), strategy.run(step)
    called = harmful
    with pytest.raises(RuntimeError, match=r"'kept\.weight'"):
        strategy.run(step)


def test_what_was_found_keeps_nothing_alive():
    strategy, kept = mirrored(2), _Kept()
    strategy.run(kept.update)
    gone = weakref.ref(kept)
    del kept
    gc.collect()
    assert gone() is None


class _Pair:
    """Binds the name of a variable, of its own and of what may be another object."""

    def __init__(self, other=None):
        self.other = other

    def either(self):
        (self.other if self.other else self).weight = tf.constant(1.0)

    def under_another_name(self):
        me = self
        me.weight = tf.constant(1.0)

    def of_its_class(self):
        __class__.weight = tf.constant(1.0)

    def its_own(self):
        self.weight = tf.constant(1.0)


@pytest.mark.parametrize("method", ["either", "under_another_name", "its_own"])
def test_the_object_that_is_bound_is_found_whatever_it_is_called(method):
    strategy, pair = mirrored(2), _Pair()
    with strategy.scope():
        pair.weight = kept = tf.Variable(0.0)

    with pytest.raises(RuntimeError, match=r"'self\.weight', the variable"):
        strategy.run(getattr(pair, method))
    assert pair.weight is kept


def test_an_attribute_of_the_class_itself_is_found(monkeypatch):
    strategy = mirrored(2)
    with strategy.scope():
        monkeypatch.setattr(_Pair, "weight", kept := tf.Variable(0.0), raising=False)

    with pytest.raises(RuntimeError, match=r"'__class__\.weight', the variable"):
        strategy.run(_Pair().of_its_class)
    assert _Pair.weight is kept


def test_only_the_object_itself_is_looked_at_where_nothing_else_can_be_bound():
    own, other = _Pair(), _Pair()
    for one in (own, other):
        one.weight = tf.Variable(0.0)

    def of(own):
        own.weight = 1.0

    def of_either(own):
        (other if own is None else own).weight = other.weight

    assert [own] == [one.owner for one in watched(MethodType(of, own))._variables]
    assert {own, other} == {one.owner for one in watched(MethodType(of_either, own))._variables}
