"""The rarer operations answer as TensorFlow has answered."""

import jax
import numpy as np
import pytest

import refdist as tf
from tests.refdist.ops.answers import answers_of, expressions_of
from tests.refdist.ops.comparison import differences, evaluated, staged_together

# In a function these run in Python.
SIZES = ("tf.unique_with_counts(", "tf.dynamic_partition(", "tf.dynamic_stitch(", "tf.broadcast_", "tf.get_static")
WIDE = ("float64", "int64")  # JAX has no room for these


def test_the_answers_are_those_of_the_expressions():
    assert set(expressions_of("rarer_operations")) == set(answers_of("rarer_operations"))


def test_rarer_operations_answer_as_tensorflow():
    found = differences(answers_of("rarer_operations"), lambda one: evaluated(one, tf.constant), False)

    assert [] == list(filter(None, found))


@pytest.mark.parametrize("backend", ["simulator", "jax"])
def test_rarer_operations_in_a_function_answer_as_tensorflow(backend):
    narrow = backend == "jax"
    answers = {one: answer for one, answer in answers_of("rarer_operations").items() if isinstance(answer, list)}
    answers = {one: answer for one, answer in answers.items() if not one.startswith(SIZES)}
    answers = {one: answer for one, answer in answers.items() if not (narrow and any(map(one.__contains__, WIDE)))}
    with tf.using(backend, cpus=1):
        results = staged_together(list(answers))

    assert [] == list(filter(None, differences(answers, results.__getitem__, narrow)))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: tf.unique_with_counts(x),
        lambda x: tf.dynamic_partition(x, x, 2),
        lambda x: tf.dynamic_stitch([x], [x]),
    ],
)
def test_what_decides_on_a_shape_is_refused_in_a_trace_of_jax(call):
    with pytest.raises(tf.errors.UnimplementedError, match="Call it outside"):
        jax.jit(call)(np.array([1, 0]))


def test_a_value_that_is_not_known_yet_is_none():
    found = []
    tf.function(lambda x: found.append(tf.get_static_value(x)))(tf.constant(1))

    assert [None] == found
