"""How often a body is called, and what comes of it, as recorded with TensorFlow: see `call_sequences.py`."""

import json
import pathlib

import numpy as np
import pytest

import refdist as tf
from tests.refdist import staged_programs
from tests.refdist.staging.call_sequences import CASES, recorded

pytestmark = pytest.mark.filterwarnings("ignore:.*was traced 5 times:RuntimeWarning")  # many shapes, on purpose

names = staged_programs.names  # a fixture
RECORDED = json.loads((pathlib.Path(__file__).parents[2] / "fixtures" / "call_sequences.json").read_text())

# The result and the tracing count are TensorFlow's, but the body is called more often.
CALLED_AGAIN = {
    "a_signature_of_any_shape": "once for each number of dimensions, which no symbol stands for",
    "reduced_retracing_over_ranks": "once for each number of dimensions, which no symbol stands for",
    "iterators_over_other_elements": "once for each spec of an iterator",
    "distributed_batches_with_an_uneven_one": "in Python, where replicas have tensors of different shapes",
    "distributed_batches_with_an_empty_part": "in Python, where replicas have tensors of different shapes",
}
# Other cases that differ: the row after each call is ours.
OURS = {
    # A function in another one is a part of its body, and is called wherever that calls it.
    "functions_in_functions": [[5.0, 1, 1], [8.0, 1, 1], [2, 1, 1]],
    # TensorFlow counts the traces of a copy of the function.
    "functions_in_replicas": [[[2.0, 2.0], 1, 0], [[4.0, 4.0], 1, 0]],
}


@pytest.mark.parametrize("name", [name for name in CASES if name not in {*OURS, *CALLED_AGAIN}])
def test_bodies_are_called_as_often_as_with_tensorflow(names, name):
    np.testing.assert_equal(recorded(tf, name, names[:2]), RECORDED[name])


@pytest.mark.parametrize("name", CALLED_AGAIN)
def test_results_and_tracing_counts_are_those_of_tensorflow(names, name):
    found = recorded(tf, name, names[:2])

    np.testing.assert_equal([row[:2] for row in found], [row[:2] for row in RECORDED[name]])
    assert found[-1][2] > RECORDED[name][-1][2], "it can be taken out of the list"


@pytest.mark.parametrize("name", OURS)
def test_what_differs_is_known(names, name):
    np.testing.assert_equal(recorded(tf, name, names[:2]), OURS[name])
