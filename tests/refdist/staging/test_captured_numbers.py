"""Tests of what is told of Python values that change after they have become part of a program."""

import warnings

import pytest

import refdist as tf
from refdist._core.staging.captured_numbers import captured_numbers

RATE = 1.0


def test_a_captured_value_that_changed():
    rate = 0.1

    @tf.function
    def step(x):
        return x * rate

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        step(tf.constant(1.0))
        step(tf.constant(1.0))
    rate = 0.5

    with pytest.warns(RuntimeWarning, match=r"'rate' is 0.5, and was 0.1 when .* was traced"):
        step(tf.constant(1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        step(tf.constant(1.0))  # told once


def test_a_counter_of_traces_is_not_told():
    traces = 0

    @tf.function
    def step(x):
        nonlocal traces
        traces += 1
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            step(tf.constant(1.0))
        traces = 7
        step(tf.constant(1.0))


def test_values_of_globals_and_of_functions_that_are_called_count():
    scale = 2

    def inner(x):
        return x * RATE

    def outer(x):
        return inner(x) * scale

    assert {"scale", "RATE"} == {one.name for one in captured_numbers(outer)}
