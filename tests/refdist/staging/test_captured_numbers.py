"""Tests of what is told of Python values that change after they have become part of a program."""

import warnings
from types import ModuleType

import numpy as np
import pytest

import refdist as tf
from refdist._core.staging.captured_numbers import captured_numbers, looks_at

RATE = 1.0
settings_of_test = ModuleType("settings_of_test")
settings_of_test.rate = 0.1


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


class Settings:
    """What users keep rates and flags in."""

    def __init__(self):
        self.rate, self.calls, self.other = 0.1, 0, 1.0


def _called_again(step, change):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        step(tf.constant(1.0))
        step(tf.constant(1.0))
    change()
    step(tf.constant(1.0))


def test_an_attribute_that_changed():
    settings = Settings()
    step = tf.function(lambda x: x * settings.rate)

    with pytest.warns(RuntimeWarning, match=r"'settings\.rate' is 0\.5, and was 0\.1 when .* was traced"):
        _called_again(step, lambda: setattr(settings, "rate", 0.5))


def test_an_attribute_of_the_object_of_a_method_that_changed():
    class Trainer(Settings):
        @tf.function
        def step(self, x):
            return x * self.rate

    trainer = Trainer()

    with pytest.warns(RuntimeWarning, match=r"'self\.rate' is 0\.5"):
        _called_again(trainer.step, lambda: setattr(trainer, "rate", 0.5))


def test_an_item_that_changed():
    settings = {"rate": 0.1}
    step = tf.function(lambda x: x * settings["rate"])

    with pytest.warns(RuntimeWarning, match=r"""'settings\[\\?'rate\\?'\]|"settings\['rate'\]" is 0\.5"""):
        _called_again(step, lambda: settings.update(rate=0.5))


def test_an_attribute_that_replicas_read_in_a_function_inside():
    with tf.using("simulator", gpus=2):
        strategy, settings = tf.distribute.MirroredStrategy(), Settings()
    step = tf.function(lambda x: strategy.run(lambda y: y * settings.rate, (x,)))

    with pytest.warns(RuntimeWarning, match=r"'settings\.rate' is 0\.5"):
        _called_again(step, lambda: setattr(settings, "rate", 0.5))


def test_parts_that_the_function_binds_or_does_not_read_may_change():
    settings, counts = Settings(), {"traces": 0}

    @tf.function
    def step(x):
        settings.calls += 1
        counts["traces"] += 1
        return x * settings.rate

    def change():
        settings.calls, settings.other, counts["traces"] = 7, 7.0, 7

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _called_again(step, change)


def told_after(change):
    """The warnings of a call after something was changed, and of one more call."""
    space = {"rate": 1000.5, "tf": tf}
    exec("def step(x):\n    return x * rate\n", space)  # its globals are its own
    step = tf.function(space["step"], autograph=False)
    for _ in range(2):
        step(tf.constant(1.0))
    change(space)
    found = []
    for _ in range(2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            step(tf.constant(1.0))
        found.append([str(one.message) for one in caught])
    return found


def test_a_number_in_whose_place_an_array_is_now_is_told_once():
    first, second = told_after(lambda space: space.update(rate=np.ones(3)))

    assert 1 == len(first)
    assert first[0].startswith("'rate' is array([1., 1., 1.]), and was 1000.5 when")
    assert [] == second


@pytest.mark.parametrize(
    "change", [lambda space: space.update(rate=float("1000.5")), lambda space: space.pop("rate")], ids=["equal", "gone"]
)
def test_an_equal_number_and_a_name_that_is_gone_are_silent(change):
    assert [[], []] == told_after(change)


class Rates:
    """What users write settings into that nobody makes an object of."""

    first, last = 0.1, 0.2


ELEMENTS = [0.1]
BATCH = Settings()
BATCH.inner = Settings()
rate = size = 8  # names of attributes and parameters, too


@pytest.mark.parametrize(
    ("owner", "name", "of"),
    [
        ("globals", "RATE", lambda y: y * RATE),
        ("class", "Rates.first", lambda y: y * Rates.first),
        ("module", "settings_of_test.rate", lambda y: y * settings_of_test.rate),
        ("object in an object", "BATCH.inner.rate", lambda y: y * BATCH.inner.rate),
        ("list", "ELEMENTS[0]", lambda y: y * ELEMENTS[0]),
    ],
)
def test_what_is_reached_by_names_of_the_module_counts(owner, name, of):
    assert [name] == [one.name for one in captured_numbers(of)]


def test_what_only_a_function_inside_of_another_reads_counts():
    def outer(x):
        def inner():
            return x * RATE * Rates.first * Rates.last

        return inner()

    assert ["RATE", "Rates.first", "Rates.last"] == [one.name for one in captured_numbers(outer)]
    assert 2 == len(looks_at(captured_numbers(outer)))  # at the globals, and at the class


def test_names_of_attributes_parameters_and_libraries_do_not_count():
    def outer(size):
        def inner(size):
            return size.rate * np.pi

        return inner(size).size

    assert () == captured_numbers(outer)


def test_a_class_that_changed_after_replicas_read_it(monkeypatch):
    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.MirroredStrategy()
    step = tf.function(lambda x: strategy.run(lambda y: y * Rates.first, (x,)))

    with pytest.warns(RuntimeWarning, match=r"'Rates\.first' is 0\.5, and was 0\.1"):
        _called_again(step, lambda: monkeypatch.setattr(Rates, "first", 0.5))
