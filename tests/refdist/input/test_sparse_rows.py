"""Sparse elements of datasets. All expected numbers and specs are what TensorFlow 2.21 answers."""

import pytest

import refdist as tf
from tests.refdist.input.uneven_elements import INDICES, VALUES, answer, shown, sparse


@pytest.mark.parametrize(
    ("dataset", "spec", "elements"),
    [
        (
            lambda: sparse(),
            "SparseTensorSpec(TensorShape([3]), tf.float32)",
            [([[1]], [1.0], [3]), ([[0], [2]], [2.0, 3.0], [3]), ([], [], [3]), ([[1]], [4.0], [3])],
        ),
        (
            lambda: sparse().batch(3),
            "SparseTensorSpec(TensorShape([None, 3]), tf.float32)",
            [(INDICES[:3], VALUES[:3], [3, 3]), ([[0, 1]], [4.0], [1, 3])],
        ),
        (
            lambda: sparse().batch(2).batch(2),
            "SparseTensorSpec(TensorShape([None, None, 3]), tf.float32)",
            [([[0, 0, 1], [0, 1, 0], [0, 1, 2], [1, 1, 1]], VALUES, [2, 2, 3])],
        ),
        (
            lambda: sparse().batch(2).map(tf.sparse.to_dense),
            "TensorSpec(shape=(None, 3), dtype=tf.float32, name=None)",
            [[[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]], [[0.0, 0.0, 0.0], [0.0, 4.0, 0.0]]],
        ),
        (
            lambda: tf.data.Dataset.range(3).map(lambda n: tf.sparse.from_dense(tf.range(n))).batch(3),
            "SparseTensorSpec(TensorShape([None, None]), tf.int64)",
            [([[2, 1]], [1], [3, 2])],
        ),
    ],
)
def test_sparse_elements_stay_sparse_until_they_are_made_dense(dataset, spec, elements):
    assert (spec, elements) == answer(dataset())


def parsed(words, numbers):
    features = tf.train.Features(
        feature={
            "words": tf.train.Feature(bytes_list=tf.train.BytesList(value=words)),
            "numbers": tf.train.Feature(int64_list=tf.train.Int64List(value=numbers)),
        }
    )
    return tf.train.Example(features=features).SerializeToString()


def test_features_of_any_length_are_parsed_batched_and_made_dense():
    records = tf.data.Dataset.from_tensor_slices([parsed([b"a", b"b"], [1]), parsed([], [2, 3]), parsed([b"c"], [])])
    features = {"words": tf.io.VarLenFeature(tf.string), "numbers": tf.io.VarLenFeature(tf.int64)}

    def dense(parts):
        return tf.sparse.to_dense(parts["numbers"]), tf.sparse.to_dense(parts["words"], default_value="-")

    at_once = records.batch(3).map(lambda one: dense(tf.io.parse_example(one, features)))
    one_by_one = records.map(lambda one: tf.io.parse_single_example(one, features)).batch(3).map(dense)

    expected = [[1, 0], [2, 3], [0, 0]], [[b"a", b"b"], [b"-", b"-"], [b"c", b"-"]]
    assert [expected] == [shown(one) for one in at_once] == [shown(one) for one in one_by_one]
