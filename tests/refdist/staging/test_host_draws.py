"""A trace that stands for all replicas tells of numbers of Python and numpy, of which all replicas get the same ones."""

import random
import warnings

import numpy as np
import pytest

import refdist as tf
from tests.refdist import staged_programs

names, strategy = staged_programs.names, staged_programs.strategy  # fixtures


def by_numpy():
    return tf.constant(np.random.rand(), tf.float32)


def by_python():
    return tf.constant(random.random(), tf.float32)


def by_python_further_in():
    return by_python()


def by_an_import():
    from random import uniform

    return tf.constant(uniform(0, 1), tf.float32)


def of_own_generator():
    return tf.constant(random.Random(3).random() + np.random.default_rng(3).random(), tf.float32)


def of_the_library():
    return tf.random.uniform([])


def once(strategy, fn):
    return tf.function(lambda: strategy.run(fn), trace_once=True)()


@pytest.mark.parametrize(
    ("fn", "name"),
    [
        (by_numpy, "numpy.random"),
        (by_python, "Python's random"),
        (by_python_further_in, "Python's random"),
        (by_an_import, "Python's random"),
    ],
)
def test_numbers_of_a_global_generator_are_told(strategy, fn, name):
    with pytest.warns(RuntimeWarning, match=f"{fn.__name__} .* drew numbers from {name} .* once for all 2 replicas"):
        once(strategy, fn)


@pytest.mark.parametrize(("count", "different", "told"), [(64, 64, 0), (65, 1, 1)])
def test_numbers_of_more_replicas_than_are_traced_one_by_one_are_told(count, different, told):
    with tf.using("simulator", gpus=count), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        strategy = tf.distribute.MirroredStrategy()
        numbers = staged_programs.numbers(strategy, tf.function(lambda: strategy.run(by_numpy))())

    assert (different, told) == (len(set(numbers)), len(caught))


@pytest.mark.parametrize("fn", [of_own_generator, of_the_library, lambda: tf.constant(0.0)])
def test_other_numbers_are_not_told(strategy, fn):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        once(strategy, fn)


def test_the_first_value_of_a_variable_may_be_random(strategy):
    made = []

    def step():
        if not made:
            made.append(tf.Variable(np.random.rand(3)))
        return made[0] * 2.0

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        once(strategy, step)


def test_seeds_that_keras_draws_are_not_told(strategy):
    keras = pytest.importorskip("keras")

    def step():
        return tf.convert_to_tensor(keras.initializers.GlorotUniform()((2, 2)))

    state = random.getstate()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        once(strategy, step)

    assert state != random.getstate(), "Keras has drawn"
