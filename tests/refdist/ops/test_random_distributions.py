import numpy as np
import pytest

import refdist as tf
from tests.refdist.ops.answers import answers_of
from tests.refdist.ops.comparison import differences, evaluated, staged_together

TRIED = {
    one: answer
    for one, answer in answers_of("random_draws").items()
    if any(name in one for name in ("gamma", "poisson", "binomial"))
}


def test_numbers_are_those_of_tensorflow():
    with tf.using("simulator", gpus=1):
        found = differences(TRIED, lambda expression: evaluated(expression, tf.constant), False)

        assert [] == list(filter(None, found))


def test_numbers_are_those_of_tensorflow_in_a_function_too():
    few = [one for one in TRIED if "[3, 2]" in one or "[2, 4]" in one]  # one of each, because XLA takes its time
    stateless = {one: TRIED[one] for one in few}
    with tf.using("simulator", gpus=1):
        found = staged_together(list(stateless))

        assert [] == list(filter(None, differences(stateless, found.__getitem__, False)))


def test_where_floats_have_32_bits_the_distributions_are_the_same():
    with tf.using("jax", cpus=1):
        draw = tf.function(
            lambda rate: (
                tf.random.stateless_gamma([1000], [1, 2], rate),
                tf.random.stateless_binomial([1000], [1, 2], 40.0, rate / 6),
            )
        )
        means, spreads = zip(
            *[(np.mean(one), np.var(one)) for one in map(np.asarray, draw(tf.constant(3.0)))], strict=True
        )

    assert np.allclose([3.0, 20.0], means, rtol=0.1)
    assert np.allclose([3.0, 10.0], spreads, rtol=0.25)


def test_what_is_refused_says_what_to_do():
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"expected one that ends with theirs\. Append it"):
        tf.random.stateless_poisson([3], [1, 2], [1.0, 2.0])
    with pytest.raises(TypeError, match=r"expected floats\. Use tf\.cast"):
        tf.random.gamma([3], 2, dtype=tf.int32)
