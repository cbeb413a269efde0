"""Tests of what is told of Python values that change after they have become part of a program."""

import logging
import warnings
from types import ModuleType

import numpy as np
import pytest

import refdist as tf
from refdist._core.staging.captured_numbers import captured_numbers, looks_at

RATE = 1.0
LOG = logging.getLogger("of_test")
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


class Loop:
    """What users write: a step as a method, which reads numbers of its object."""

    def __init__(self, strategy):
        self.strategy, self.rate, self.settings, self.epoch = strategy, 1.0, {"rate": 1.0}, 0
        with strategy.scope():
            self.weight = tf.Variable(0.0, aggregation=tf.VariableAggregation.MEAN)

    @tf.function
    def step(self, x):
        return self.strategy.run(lambda: self.weight.assign_add(self.rate * x))

    @tf.function
    def step_by_settings(self, x):
        return self.strategy.run(lambda: self.weight.assign_add(self.settings["rate"] * x))

    @tf.function
    def step_of_epoch(self, x):
        print(f"tracing in epoch {self.epoch}", self.epoch, sep=": ")
        logging.debug("epoch %d", self.epoch)
        LOG.info("epoch", extra={"epoch": self.epoch})
        return x + 1.0

    @tf.function
    def step_by_text(self, x):
        print(self.epoch)
        text = f"epoch {self.epoch}"
        tf.print(text)
        return x


@pytest.mark.parametrize(
    ("step", "change", "told"),
    [
        (Loop.step, lambda loop: setattr(loop, "rate", 10.0), r"'self\.rate' is 10\.0, and was 1\.0"),
        (Loop.step_by_settings, lambda loop: loop.settings.update(rate=10.0), r"self\.settings\['rate'\]\" is 10\.0"),
        (Loop.step_by_text, lambda loop: setattr(loop, "epoch", 1), r"'self\.epoch' is 1"),
    ],
)
def test_what_only_a_function_inside_of_a_method_reads_of_its_object_counts(step, change, told):
    with tf.using("simulator", gpus=2):
        loop = Loop(tf.distribute.MirroredStrategy())

    with pytest.warns(RuntimeWarning, match=told):
        _called_again(step.__get__(loop), lambda: change(loop))


def test_a_number_that_is_only_printed_or_logged_may_change(capsys):
    with tf.using("simulator", gpus=2):
        loop = Loop(tf.distribute.MirroredStrategy())

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _called_again(loop.step_of_epoch, lambda: setattr(loop, "epoch", 1))
    assert "tracing in epoch 0: 0\n" == capsys.readouterr().out


def test_what_is_printed_by_something_else_or_taken_from_the_call_counts():
    def own_print(x):
        return x

    def outer(x):
        own_print(RATE)
        return x

    def changed(x):
        print(own_print(BATCH.rate))
        return x

    def taken(x):
        return x, print(Rates.first)

    assert ["RATE"] == [one.name for one in captured_numbers(outer)]
    assert ["BATCH.rate"] == [one.name for one in captured_numbers(changed)]
    assert ["Rates.first"] == [one.name for one in captured_numbers(taken)]


def test_names_that_are_bound_anew_or_belong_to_a_function_inside_do_not_count():
    class Another(Settings):
        def bound(self, x):
            self = Settings()
            return x * self.rate

        def inside(self, x):
            def other(self):
                return lambda: self.rate

            return other(x), self

    assert () == captured_numbers(Another().bound)
    assert () == captured_numbers(Another().inside)


@pytest.mark.parametrize("now", [100.0, 1.0])
def test_a_variable_in_whose_place_another_one_is(now):
    settings = Settings()
    settings.rate = tf.Variable(1.0)
    step = tf.function(lambda x: settings.rate.assign_add(x))

    with pytest.warns(RuntimeWarning, match=r"'settings\.rate' is another variable, and was the variable 'Variable:0'"):
        _called_again(step, lambda: setattr(settings, "rate", tf.Variable(now)))


def test_a_variable_that_is_made_in_the_first_call_and_one_that_is_assigned_to_may_change():
    settings = Settings()
    settings.rate, settings.other = None, tf.Variable(1.0)

    @tf.function
    def step(x):
        if settings.rate is None:
            settings.rate = tf.Variable(1.0)
        return x * settings.rate * settings.other

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _called_again(step, lambda: settings.other.assign(7.0))
