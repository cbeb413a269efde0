"""Elements that consist of several arrays. All expected numbers and specs are what TensorFlow 2.21 answers."""

import pytest

import refdist as tf
from tests.refdist.input.uneven_elements import LISTS, ragged, shown, sparse


def test_iterators_of_numpy_deliver_arrays_of_rows_and_whole_arrays():
    first = next(iter(ragged().batch(2).as_numpy_iterator()))

    assert (object, [[1, 2], []]) == (first.dtype, [row.tolist() for row in first])
    assert LISTS == [row.tolist() for row in ragged().as_numpy_iterator()]
    assert [[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]] == next(iter(sparse().batch(2).as_numpy_iterator())).tolist()


def test_generators_promise_ragged_and_sparse_elements():
    rows = tf.data.Dataset.from_generator(
        lambda: iter([tf.ragged.constant([[1], [2, 3]])]),
        output_signature=tf.RaggedTensorSpec([None, None], tf.int32),
    )
    values = tf.data.Dataset.from_generator(
        lambda: iter([tf.SparseTensor([[0]], [1], [2])]), output_signature=tf.SparseTensorSpec([None], tf.int32)
    )
    broken = tf.data.Dataset.from_generator(
        lambda: iter([tf.constant([1])]), output_signature=tf.RaggedTensorSpec([None, None], tf.int32)
    )

    assert [("ragged", [[1], [2, 3]])] == [shown(one) for one in rows]
    assert [([[0]], [1], [2])] == [shown(one) for one in values]
    with pytest.raises(TypeError, match="as promised"):
        list(broken)


def test_what_needs_an_array_says_how_to_make_one(tmp_path):
    with pytest.raises(TypeError, match=r"has a RaggedTensor, .*; expected a single array. Use to_tensor\(\)"):
        list(ragged().batch(2).unique())
    with pytest.raises(TypeError, match=r"expected tensors. Take them apart"):
        sparse().save(str(tmp_path))
