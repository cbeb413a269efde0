import pytest

import refdist as tf
from tests.refdist.ops.answers import answers_of, expressions_of
from tests.refdist.ops.comparison import differences, evaluated, staged_together

ANSWERS = answers_of("more_images")


def test_the_answers_are_those_of_the_expressions():
    assert set(expressions_of("more_images")) == set(ANSWERS)


def test_operations_on_images_answer_as_tensorflow_does():
    with tf.using("host"):
        found = differences(ANSWERS, lambda expression: evaluated(expression, tf.constant), False)

        assert [] == list(filter(None, found))


def test_colors_change_in_a_function_too():
    names = ("adjust_hue", "adjust_saturation", "random_saturation", "to_rgb")
    colors = {
        one: answer for one, answer in ANSWERS.items() if isinstance(answer, list) and any(n in one for n in names)
    }
    with tf.using("simulator", gpus=1):
        found = staged_together([one for one in colors if "seed" not in one])

        assert [] == list(filter(None, differences({one: colors[one] for one in found}, found.__getitem__, False)))


def test_what_is_refused_says_what_to_do():
    with pytest.raises(ValueError, match=r"expected 3 channels\. Use grayscale_to_rgb"):
        tf.image.adjust_hue(tf.ones([2, 2, 1]), 0.1)
    with pytest.raises(ValueError, match=r"expected one from 0 to 0\.5\. Correct"):
        tf.image.random_hue(tf.ones([2, 2, 3]), 0.6)
    with pytest.raises(ValueError, match=r"the upper one larger\. Correct"):
        tf.image.stateless_random_contrast(tf.ones([2, 2, 3]), 1.0, 1.0, [1, 2])
