"""What the recorded answers, which test_more_operations.py compares, do not say."""

import numpy as np
import pytest

import refdist as tf

MATRIX = np.array([[4.0, 1.0], [1.0, 3.0]], np.float32)


@pytest.mark.parametrize("around", [lambda step: step, tf.function], ids=["eager", "staged"])
def test_factors_multiply_to_the_matrix(any_backend, around):
    def products(x):
        orthogonal, triangular = tf.linalg.qr(x)
        values, left, right = tf.linalg.svd(x)
        numbers, vectors = tf.linalg.eigh(x)
        lower = tf.linalg.cholesky(x)
        return [
            orthogonal @ triangular,
            left @ tf.linalg.diag(values) @ tf.transpose(right),
            vectors @ tf.linalg.diag(numbers) @ tf.transpose(vectors),
            lower @ tf.transpose(lower),
            x @ x @ tf.linalg.inv(x),
        ]

    assert all(np.allclose(MATRIX, one, atol=1e-5) for one in around(products)(tf.constant(MATRIX)))


def test_slices_and_nothing_are_clipped_together_with_tensors(any_backend):
    slices = tf.IndexedSlices(tf.constant([[3.0]]), tf.constant([0]), tf.constant([2, 1]))
    (first, nothing, second), norm = tf.clip_by_global_norm([slices, None, tf.constant([4.0])], 1.0)

    assert (5.0, None) == (float(norm), nothing)
    assert np.allclose([0.6, 0.8], [float(first.values[0, 0]), float(second[0])])


def test_what_has_no_result_or_is_missing_is_told():
    for call, text in [
        (lambda: tf.linalg.inv([[1.0, 1.0], [1.0, 1.0]]), "without a result"),
        (lambda: tf.linalg.solve([[1.0, 1.0], [1.0, 1.0]], [[1.0], [1.0]]), "Add to its diagonal"),
        (lambda: tf.linalg.diag([1.0], k=1), "main diagonal"),
        (lambda: tf.linalg.diag_part([[1.0]], align="LEFT_LEFT"), "expected k alone"),
        (lambda: tf.norm([[1.0]], ord=1, axis=[0, 1]), "tf.linalg.svd"),
        (lambda: tf.norm([1.0], ord=-1), "positive number"),
    ]:
        with pytest.raises(ValueError, match=text):
            call()


def test_slices_are_made_shorter_by_the_length_of_their_values():
    slices = tf.IndexedSlices(tf.ones([4, 1]), tf.constant([0, 0, 1, 2]), tf.constant([3, 1]))
    found = tf.clip_by_norm(slices, 0.5)

    assert isinstance(found, tf.IndexedSlices)
    assert [[0.5], [0.25], [0.25]] == np.asarray(tf.convert_to_tensor(found)).tolist()  # TensorFlow 2.21
