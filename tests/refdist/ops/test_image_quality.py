"""The structures of images are compared as by TensorFlow 2.21, which gave these numbers."""

import numpy as np
import pytest

import refdist as tf

random = np.random.RandomState(0)
FIRST = random.rand(2, 12, 13, 3).astype(np.float32)
SECOND = np.clip(FIRST + 0.1 * random.randn(2, 12, 13, 3), 0, 1).astype(np.float32)
NARROW = {"filter_size": 5, "filter_sigma": 1.0, "k1": 0.02, "k2": 0.05}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (lambda: tf.image.ssim(FIRST, SECOND, 1.0), [0.9516018033027649, 0.9538111686706543]),
        (lambda: tf.image.ssim(FIRST, SECOND, 1.0, **NARROW), [0.9498701095581055, 0.9468804001808167]),
        (lambda: tf.function(tf.image.ssim)(FIRST, SECOND, 1.0), [0.9516018033027649, 0.9538111686706543]),
        (lambda: tf.image.ssim(np.uint8(FIRST * 255), np.uint8(SECOND * 255), 255), [0.9518709182739258, 0.9541430473327637]),
        (lambda: tf.image.ssim(FIRST, FIRST, 1.0), [1.0, 1.0]),
    ],
)  # fmt: skip
def test_images_are_compared_as_by_tensorflow(any_backend, found, expected):
    np.testing.assert_allclose(np.asarray(found()), expected, rtol=1e-5)


@pytest.mark.parametrize("other", [FIRST[:, :10], FIRST[:1]])
def test_images_of_other_sizes_and_too_small_ones_are_refused(other):
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"expected one shape.*\. Resize"):
        tf.image.ssim(other, FIRST if len(other) == 1 else other, 1.0)
