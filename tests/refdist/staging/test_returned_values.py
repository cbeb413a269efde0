"""What leaves a function: variables as their values, Python numbers as tensors."""

import numpy as np
import pytest

import refdist as tf
from refdist._core.replicas.values import PerReplica
from refdist._core.staging.returned_values import returned_from_draft, returned_from_python


@pytest.fixture(autouse=True)
def simulator():
    with tf.using("simulator", gpus=2):
        yield


def kinds(result):
    return [type(leaf).__name__ for leaf in tf.nest.flatten(result)]


@pytest.mark.parametrize("leave", [returned_from_draft, returned_from_python])
def test_numbers_and_variables_become_tensors_in_the_same_structure(leave):
    result = leave({"a": 1, "b": [2.5, True], "c": tf.Variable(3.0), "d": None})

    assert {"a": 1, "b": [2.5, True], "c": 3.0, "d": None} == result
    assert ["Tensor"] * 4 + ["NoneType"] == kinds(result)


def test_text_becomes_a_tensor_outside_of_programs_and_stays_what_it_is_in_them():
    assert ["Tensor"] == kinds(returned_from_python("text"))
    assert "text" == returned_from_draft("text")


def test_arrays_of_numpy_become_tensors_of_a_program_only():
    array = np.ones(2)

    assert array is returned_from_python(array)
    assert ["Tensor"] == kinds(returned_from_draft(array))


def test_the_numbers_of_a_per_replica_value_become_tensors():
    assert ["Tensor", "Tensor"] == [type(one).__name__ for one in returned_from_python(PerReplica([1, 2])).values]


def test_a_per_replica_value_of_tensors_stays_itself():
    value = PerReplica([tf.constant(1.0), tf.constant(2.0)])

    assert value is returned_from_python(value)
