"""Programs with control flow over tensors give the answers that TensorFlow gave."""

import json

import pytest

import refdist as tf
from tests.refdist.autograph import programs

ANSWERS = json.loads(programs.ANSWERS.read_text())


def test_every_program_has_an_answer():
    assert programs.CALLS.keys() == ANSWERS.keys()


@pytest.mark.parametrize("name", programs.CALLS)
def test_a_program_answers_as_tensorflow_does(name):
    assert ANSWERS[name] == programs.answers(*programs.CALLS[name])


@pytest.mark.parametrize("name", [*programs.CALLS][::7])
def test_a_program_answers_as_tensorflow_does_on_jax(name):
    with tf.using("jax", cpus=1):
        assert ANSWERS[name] == programs.answers(*programs.CALLS[name])


@pytest.mark.parametrize("name", [*programs.CALLS][[*programs.CALLS].index("conditions") :])
def test_branches_and_loops_as_functions_answer_the_same_outside_of_functions(name):
    function, calls = programs.CALLS[name]

    assert ANSWERS[name] == [programs.plain(function(*map(tf.constant, call))) for call in calls]
