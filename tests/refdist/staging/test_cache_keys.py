"""What values and functions are told apart by."""

import functools

import pytest

import refdist as tf
from refdist._core.staging.cache_keys import ByIdentity, function_key, value_key
from refdist._core.staging.references import closes_over_tensors, closure_of, mentioned_strategy

LIMIT = 3


def made(inside, default=1):
    def function(x, by=default):
        return x + inside * by + LIMIT

    return function


@pytest.mark.parametrize("value", [0, 1.5, float("nan"), "a", b"a", None, True, 1j])
def test_python_values_are_equal_where_they_are_the_same_value(value):
    assert value_key(value) == value_key(value)
    assert hash(value_key(value)) == hash(value_key(value))


@pytest.mark.parametrize(("one", "other"), [(0.0, -0.0), (1, 1.0), (1, True), ("a", b"a")])
def test_python_values_that_a_program_can_tell_apart_are_not_equal(one, other):
    assert value_key(one) != value_key(other)


def test_objects_are_equal_to_themselves_alone():
    one, other = [1], [1]

    assert ByIdentity(one) == ByIdentity(one) != ByIdentity(other)
    assert value_key(one) != value_key(other)


def test_a_function_made_anew_is_the_same_where_it_closes_over_the_same():
    assert function_key(made(1)) == function_key(made(1))
    assert function_key(made(1)) != function_key(made(2))
    assert function_key(made(1)) != function_key(made(1, default=2))
    assert function_key(functools.partial(made(1), by=1)) != function_key(functools.partial(made(1), by=2))


def test_a_function_is_another_one_when_a_global_that_it_names_changes(monkeypatch):
    before = function_key(made(1))
    monkeypatch.setitem(globals(), "LIMIT", 4)

    assert before != function_key(made(1))


def test_a_function_is_another_one_when_a_small_container_that_it_refers_to_changes():
    kept, table = [1], {"a": 1}
    function = made(kept), made(table)
    before = [function_key(one) for one in function]
    kept.append(2)
    table["a"] = 2

    assert all(a != function_key(b) for a, b in zip(before, function, strict=True))


def test_methods_are_told_apart_by_their_objects():
    class Model:
        def step(self):
            return self

    one, other = Model(), Model()

    assert function_key(one.step) == function_key(one.step) != function_key(other.step)


def test_names_that_are_not_bound_yet_are_left_out():
    def later():
        return value

    assert [] == closure_of(later)
    value = 1
    assert [1] == closure_of(later)
    assert 1 == later()


def test_a_function_around_a_tensor_is_known_and_one_around_a_variable_is_not_meant():
    with tf.using("simulator", gpus=2):
        tensor, variable = tf.constant(1.0), tf.Variable(1.0)

    assert closes_over_tensors(made(tensor))
    assert closes_over_tensors(functools.partial(made(1), by=tensor))
    assert not closes_over_tensors(made(variable))
    assert not closes_over_tensors(made(1.0))


def test_the_strategy_that_a_function_names_is_found_unless_there_are_two():
    with tf.using("simulator", gpus=2):
        one, other = tf.distribute.MirroredStrategy(["GPU:0"]), tf.distribute.MirroredStrategy(["GPU:1"])

    assert one is mentioned_strategy(made(one))
    assert None is mentioned_strategy(lambda: (one, other))
    assert None is mentioned_strategy(lambda: None)
