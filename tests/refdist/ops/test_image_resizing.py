import numpy as np
import pytest

import refdist as tf
from refdist._core.ops.image_resizing import ResizeMethod
from tests.refdist.ops.answers import answers_of
from tests.refdist.ops.comparison import differences, staged_together

METHODS = [value for name, value in vars(ResizeMethod).items() if name.isupper()]


def test_a_function_resizes_as_tensorflow_does():
    answers = {
        one: answer
        for one, answer in answers_of("more_images").items()
        if "resize(" in one and isinstance(answer, list)
    }
    with tf.using("simulator", gpus=1):
        found = staged_together(list(answers)[::3])

        assert [] == list(filter(None, differences({one: answers[one] for one in found}, found.__getitem__, False)))


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_an_image_of_one_color_stays_one(method, antialias):
    found = np.asarray(tf.image.resize(tf.fill([5, 7, 2], 3.0), [8, 3], method, antialias=antialias))

    assert np.allclose(np.full((8, 3, 2), 3.0), found)


def test_what_is_refused_says_what_to_do():
    with pytest.raises(ValueError, match=r"expected one of nearest, bilinear.*\. Use tf\.image\.ResizeMethod"):
        tf.image.resize(tf.ones([2, 2, 1]), [1, 1], "cubic")
    with pytest.raises(ValueError, match=r"expected height, width and channels.*\. Reshape"):
        tf.image.resize(tf.ones([2, 2]), [1, 1])
    with pytest.raises(ValueError, match=r"expected 'bilinear' or 'nearest'\. Use"):
        tf.image.crop_and_resize(tf.ones([1, 2, 2, 1]), [[0.0, 0, 1, 1]], [0], [1, 1], "bicubic")
