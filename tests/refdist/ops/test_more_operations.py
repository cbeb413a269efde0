"""Further operations answer as TensorFlow has answered."""

import pytest

import refdist as tf
from tests.refdist.ops.answers import answers_of, expressions_of
from tests.refdist.ops.comparison import differences, evaluated, staged_together

SETS = ["images_and_text", "more_operations"]

# In a function these run in Python.
SIZES = ("tf.boolean_mask(", "tf.unique(", "tf.math.bincount(t([1, 1, 3]))", "tf.math.bincount(t([1, 1, 3]), weights")
PYTHON = ("tf.strings.", "tf.as_string(", "tf.numpy_function(", "tf.py_function(", "tf.random_")  # or text
WIDE = ("float64", "int64")  # JAX has no room for these


@pytest.mark.parametrize("name", SETS)
def test_the_answers_are_those_of_the_expressions(name):
    assert set(expressions_of(name)) == set(answers_of(name))


@pytest.mark.parametrize("name", SETS)
def test_operations_answer_as_tensorflow(name):
    found = differences(answers_of(name), lambda one: evaluated(one, tf.constant), False)

    assert [] == list(filter(None, found))


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("backend", ["simulator", "jax"])
def test_operations_in_a_function_answer_as_tensorflow(backend, name):
    narrow = backend == "jax"
    answers = {one: answer for one, answer in answers_of(name).items() if isinstance(answer, list)}
    answers = {one: answer for one, answer in answers.items() if not one.startswith(SIZES + PYTHON)}
    answers = {one: answer for one, answer in answers.items() if not (narrow and any(map(one.__contains__, WIDE)))}
    with tf.using(backend, cpus=1):
        results = staged_together(list(answers))

    assert [] == list(filter(None, differences(answers, results.__getitem__, narrow)))
