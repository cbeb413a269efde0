"""What the recorded answers, which test_more_operations.py compares, do not say."""

import numpy as np
import pytest

import refdist as tf

IMAGE = np.arange(24, dtype=np.float32).reshape(2, 4, 3)


def test_a_function_flips_some_images_and_others_not(any_backend):
    flip = tf.function(lambda: tf.image.random_flip_left_right(tf.constant(np.stack([IMAGE] * 40))))
    kinds = {np.asarray(one).tobytes() for one in flip()}

    assert {IMAGE.tobytes(), IMAGE[:, ::-1].tobytes()} == kinds


def test_a_function_crops_at_different_places(any_backend):
    crop = tf.function(lambda: tf.image.random_crop(tf.constant(IMAGE), [1, 2, 3]))
    found = [np.asarray(crop()) for _ in range(12)]
    parts = {IMAGE[row : row + 1, column : column + 2].tobytes() for row in range(2) for column in range(3)}

    assert 1 < len({one.tobytes() for one in found} & parts) == len({one.tobytes() for one in found})


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tf.image.convert_image_dtype(tf.constant([1], tf.uint8), tf.int32), "float32 first"),
    ],
)
def test_what_is_missing_says_what_to_do(call, text):
    with pytest.raises(ValueError, match=text):
        call()
