"""Gradients are those of TensorFlow, on every backend, eagerly and in functions."""

import contextlib
import json
import pathlib

import numpy as np
import pytest

import refdist as tf
from tests.refdist.tape.tape_programs import PROGRAMS

ANSWERS = json.loads((pathlib.Path(__file__).parents[2] / "fixtures/gradients.json").read_text())["answers"]
BACKENDS = {"simulator": {"gpus": 2}, "jax": {"cpus": 2}}


class Kept:
    """refdist for programs in functions: the variables that a program makes are made once, and found again."""

    def __init__(self):
        self.variables = []

    def begun(self):
        self.count = 0
        return self

    def __getattr__(self, name):
        return getattr(tf, name)

    def Variable(self, *args, **kwargs):  # noqa: N802
        if self.count == len(self.variables):
            with tf.init_scope() if hasattr(tf, "init_scope") else contextlib.nullcontext():
                self.variables.append(tf.Variable(*args, **kwargs))
        self.count += 1
        return self.variables[self.count - 1]


def agree(result, answers):
    leaves = tf.nest.flatten(result)
    assert len(leaves) == len(answers)
    for leaf, answer in zip(leaves, answers, strict=True):
        if answer is None:
            assert leaf is None
        else:
            np.testing.assert_allclose(np.asarray(leaf), answer, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_tensorflow(name, backend):
    with tf.using(backend, **BACKENDS[backend]):
        agree(PROGRAMS[name](tf), ANSWERS[name])


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_in_functions_are_those_of_tensorflow(name):
    kept = Kept()
    agree(tf.function(lambda: PROGRAMS[name](kept.begun()))(), ANSWERS[name])
