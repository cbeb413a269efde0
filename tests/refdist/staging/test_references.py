"""What a Python function refers to, as far as it matters to programs."""

import functools

import pytest

import refdist as tf
from refdist._core.staging.references import (
    closes_over_tensors,
    closure_of,
    defaults_of,
    globals_of,
    mentioned_iterators,
    mentioned_strategy,
)

GLOBAL = object()


@pytest.fixture
def strategy():
    with tf.using("simulator", gpus=2):
        yield tf.distribute.MirroredStrategy()


def test_what_is_closed_over_is_known_as_far_as_it_is_bound():
    def function():
        return bound, unbound

    bound = 1
    assert [1] == closure_of(function)
    unbound = 2
    assert [1, 2] == sorted(closure_of(function))


def test_defaults_are_those_of_all_parameters():
    assert [1, 2] == defaults_of(lambda a=1, *, b=2: (a, b))
    assert [] == defaults_of(len)


def test_only_globals_that_the_code_names_count():
    function = lambda: GLOBAL  # noqa: E731

    assert [GLOBAL] == globals_of(function, function.__code__)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda tensor: lambda: tensor, True),
        (lambda tensor: lambda x=tensor: x, True),
        (lambda tensor: functools.partial(lambda x: x, tensor), True),
        (lambda tensor: lambda: [1, "a", None], False),
    ],
)
def test_tensors_that_a_function_brings_along_are_found(make, expected):
    assert expected == closes_over_tensors(make(tf.constant(1.0)))


def test_a_variable_is_no_constant():
    variable = tf.Variable(1.0)

    assert not closes_over_tensors(lambda: variable)


def test_the_strategy_is_found_through_functions_and_objects(strategy):
    def inner():
        return strategy.num_replicas_in_sync

    class Trainer:
        def __init__(self):
            self.strategy = strategy

        def step(self):
            return 1

    assert strategy is mentioned_strategy(inner)
    assert strategy is mentioned_strategy(lambda: inner())
    assert strategy is mentioned_strategy(Trainer().step)
    assert strategy is mentioned_strategy(functools.partial(inner))


def test_of_two_strategies_none_is_meant(strategy):
    other = tf.distribute.OneDeviceStrategy("GPU:1")

    assert mentioned_strategy(lambda: (strategy, other)) is None
    assert mentioned_strategy(lambda: 1) is None


def test_iterators_over_data_are_found():
    iterator = iter(tf.data.Dataset.range(3))

    assert [iterator] == mentioned_iterators(lambda: next(iterator))
