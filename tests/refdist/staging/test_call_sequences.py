"""How often a body is called, and what comes of it, as recorded with TensorFlow: see `call_sequences.py`."""

import json
import pathlib

import numpy as np
import pytest

import refdist as tf
from tests.refdist.staging.call_sequences import CASES, recorded

RECORDED = json.loads((pathlib.Path(__file__).parents[2] / "fixtures" / "call_sequences.json").read_text())
DIFFERENT = {
    "functions_in_functions",
    "functions_in_replicas",
    "concrete_functions",
    "distributed_batches_with_a_partial_one",
}


@pytest.mark.parametrize("name", [name for name in CASES if name not in DIFFERENT])
def test_functions_are_traced_as_often_as_with_tensorflow(names, name):
    expected, found = [[row[:2] for row in rows] for rows in (RECORDED[name], recorded(tf, name, names[:2]))]

    np.testing.assert_equal(found, expected)
