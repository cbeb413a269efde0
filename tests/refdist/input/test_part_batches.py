"""Batches that are ragged or sparse. All expected numbers and specs are what TensorFlow 2.21 answers."""

import pytest

import refdist as tf
from tests.refdist.input.uneven_elements import answer, counted, ragged, sparse


@pytest.mark.parametrize(
    ("dataset", "spec", "elements"),
    [
        (
            lambda: counted().ragged_batch(3),
            "RaggedTensorSpec(TensorShape([None, None]), tf.int64, 1, tf.int64)",
            [("ragged", [[], [0], [0, 1]]), ("ragged", [[0, 1, 2]])],
        ),
        (
            lambda: counted().ragged_batch(3, drop_remainder=True),
            "RaggedTensorSpec(TensorShape([3, None]), tf.int64, 1, tf.int64)",
            [("ragged", [[], [0], [0, 1]])],
        ),
        (
            lambda: counted().apply(tf.data.experimental.dense_to_ragged_batch(4, row_splits_dtype=tf.int32)),
            "RaggedTensorSpec(TensorShape([None, None]), tf.int64, 1, tf.int32)",
            [("ragged", [[], [0], [0, 1], [0, 1, 2]])],
        ),
        (
            lambda: tf.data.Dataset.range(3).map(lambda n: tf.ones([n, 2])).ragged_batch(3),
            "RaggedTensorSpec(TensorShape([None, None, 2]), tf.float32, 1, tf.int64)",
            [("ragged", [[], [[1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]])],
        ),
        (
            lambda: tf.data.Dataset.range(3).ragged_batch(3),
            "TensorSpec(shape=(None,), dtype=tf.int64, name=None)",
            [[0, 1, 2]],
        ),
        (
            lambda: counted().sparse_batch(3, [4]),
            "SparseTensorSpec(TensorShape([None, 4]), tf.int64)",
            [
                ([[1, 0], [2, 0], [2, 1]], [0, 0, 1], [3, 4]),
                ([[0, 0], [0, 1], [0, 2]], [0, 1, 2], [1, 4]),
            ],
        ),
        (
            lambda: counted().apply(tf.data.experimental.dense_to_sparse_batch(3, [None])).take(1),
            "SparseTensorSpec(TensorShape([None, None]), tf.int64)",
            [([[1, 0], [2, 0], [2, 1]], [0, 0, 1], [3, 2])],
        ),
    ],
)
def test_elements_of_different_sizes_become_ragged_or_sparse_batches(dataset, spec, elements):
    assert (spec, elements) == answer(dataset())


def test_padded_batch_refuses_what_is_no_tensor():
    with pytest.raises(TypeError, match=r"padded_batch\(\) got elements RaggedTensorSpec.*expected tensors. Use batch"):
        list(ragged().padded_batch(2))
    with pytest.raises(TypeError, match="got elements SparseTensorSpec"):
        _ = sparse().padded_batch(2).element_spec
    with pytest.raises(TypeError, match=r"sparse_batch\(\) got elements .*expected a single tensor"):
        _ = tf.data.Dataset.zip((counted(), counted())).sparse_batch(2, [2]).element_spec
    with pytest.raises(tf.errors.DataLossError, match=r"up to the shape \(2,\); expected at most \(1,\)"):
        list(counted().sparse_batch(3, [1]))
