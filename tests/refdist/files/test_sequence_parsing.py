"""What TensorFlow 2.21 answers is written into the tests."""

import numpy as np
import pytest

import refdist as tf
from tests.refdist.files.test_messages import SEQUENCE

fixed, varying, rows = tf.io.FixedLenFeature, tf.io.VarLenFeature, tf.io.FixedLenSequenceFeature

# Written by TensorFlow: "n" is 3, 5 and 6;
# "x" is [[1, 2], [3, 4]], [[5, 6]] and missing; "w" is [[1], [2, 3], []], [[7, 8, 9]] and [].
FIRST = bytes.fromhex(
    "0a0c0a0a0a016e12051a030a0103123d0a210a0178121c0a0c120a0a080000803f000000400a0c120a0a0800004040000080400a180a017712130a051a030a"
    "01010a061a040a0202030a021a00"
)
SECOND = bytes.fromhex(
    "0a0c0a0a0a016e12051a030a010512250a130a0178120e0a0c120a0a080000a0400000c0400a0e0a017712090a071a050a03070809"
)
THIRD = bytes.fromhex("0a0c0a0a0a016e12051a030a010612070a050a01771200")
CONTEXT = {"n": fixed([], tf.int64)}


def test_a_sequence_example_is_parsed():
    context, lists = tf.io.parse_single_sequence_example(
        SEQUENCE, {"i": fixed([3], tf.int64)}, {"a": rows([2], tf.int64), "z": rows([2], tf.int64, allow_missing=True)}
    )

    assert [1, -2, 3] == context["i"].tolist()
    assert [[1, 2], [3, 4]] == lists["a"].tolist()
    assert (0, 2) == lists["z"].shape


@pytest.mark.parametrize(
    ("feature", "error"),
    [
        ({"z": rows([2], tf.int64)}, tf.errors.InvalidArgumentError),
        ({"a": rows([], tf.int64)}, tf.errors.InvalidArgumentError),
        ({"a": fixed([2], tf.int64)}, ValueError),
        (None, ValueError),
        ({"a": tf.io.RaggedFeature(tf.int64, partitions=[1])}, NotImplementedError),
    ],
)
def test_lists_of_features_that_do_not_fit_are_told(feature, error):
    with pytest.raises(error):
        tf.io.parse_single_sequence_example(SEQUENCE, sequence_features=feature)


def test_lists_of_several_examples_are_filled_up_and_their_lengths_told():
    context, lists, lengths = tf.io.parse_sequence_example([FIRST, SECOND], CONTEXT, {"x": rows([2], tf.float32)})

    assert [3, 5] == context["n"].tolist()
    assert [[[1, 2], [3, 4]], [[5, 6], [0, 0]]] == lists["x"].tolist()
    assert [2, 1] == lengths["x"].tolist()
    assert np.float32 == lists["x"].dtype


def test_a_list_that_an_example_lacks_is_empty_if_it_may():
    may = {"x": rows([2], tf.float32, allow_missing=True)}
    _, lists, lengths = tf.io.parse_sequence_example([FIRST, THIRD], CONTEXT, may)

    assert [[[1, 2], [3, 4]], [[0, 0], [0, 0]]] == lists["x"].tolist()
    assert [2, 0] == lengths["x"].tolist()
    with pytest.raises(tf.errors.InvalidArgumentError, match="Example 1 lacks"):
        tf.io.parse_sequence_example([FIRST, THIRD], CONTEXT, {"x": rows([2], tf.float32)})


def test_lists_of_any_length_become_sparse():
    _, lists, lengths = tf.io.parse_sequence_example([FIRST, SECOND], CONTEXT, {"w": varying(tf.int64)})

    assert [[0, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 0, 1], [1, 0, 2]] == lists["w"].indices.tolist()
    assert [1, 2, 3, 7, 8, 9] == lists["w"].values.tolist()
    assert [2, 3, 3] == lists["w"].dense_shape.tolist()
    assert {} == lengths


def test_lists_of_any_length_become_ragged():
    feature = {"w": tf.io.RaggedFeature(tf.int64)}
    _, lists, _ = tf.io.parse_sequence_example([FIRST, SECOND], CONTEXT, feature)

    assert [[[1], [2, 3], []], [[7, 8, 9]]] == lists["w"].to_list()
    assert [[1], [2, 3], []] == tf.io.parse_single_sequence_example(FIRST, CONTEXT, feature)[1]["w"].to_list()


def test_one_byte_string_is_one_example():
    context, lists, lengths = tf.io.parse_sequence_example(FIRST, CONTEXT, {"x": rows([2], tf.float32)})

    assert (3, [[1, 2], [3, 4]], 2) == (int(context["n"]), lists["x"].tolist(), int(lengths["x"]))


def test_examples_have_one_dimension():
    with pytest.raises(tf.errors.InvalidArgumentError, match="one dimension"):
        tf.io.parse_sequence_example([[FIRST]], CONTEXT)


def test_examples_are_parsed_where_a_dataset_is_mapped():
    data = tf.data.Dataset.from_tensor_slices([FIRST, SECOND]).batch(2)
    parsed = data.map(lambda one: tf.io.parse_sequence_example(one, CONTEXT, {"x": rows([2], tf.float32)})[2]["x"])

    assert [[2, 1]] == [one.tolist() for one in parsed]
