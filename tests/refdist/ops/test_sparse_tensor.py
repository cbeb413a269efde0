"""What the recorded answers, which test_ragged_tensor.py compares, do not say."""

import numpy as np
import pytest

import refdist as tf


def test_a_function_computes_with_sparse_tensors():
    @tf.function
    def product(values, whole):
        sparse = tf.SparseTensor([[0, 1], [1, 0]], values, [2, 2])
        return tf.sparse.sparse_dense_matmul(sparse, whole) + tf.sparse.to_dense(sparse)

    assert [[4, 8], [10, 10]] == np.asarray(product(tf.constant([2, 5]), tf.constant([[1, 2], [2, 3]]))).tolist()


def test_what_is_no_sparse_tensor_is_told():
    with pytest.raises(TypeError, match="from_dense"):
        tf.sparse.to_dense(tf.constant([1.0]))
    assert "2 values" in repr(tf.SparseTensor([[0], [1]], [1, 2], [3]))
