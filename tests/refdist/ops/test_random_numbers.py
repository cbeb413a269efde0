import jax
import numpy as np
import pytest

import refdist as tf


def test_a_seed_draws_the_same_numbers_again(any_backend):
    draws = []
    for _ in range(2):
        tf.random.set_seed(1)
        draws.append(np.asarray(tf.random.uniform([3])).tolist())

    assert draws[0] == draws[1]
    assert np.asarray(tf.random.uniform([3], seed=5)).tolist() == np.asarray(tf.random.uniform([3], seed=5)).tolist()


@pytest.mark.parametrize(("dtype", "least", "most"), [("float32", -1, 1), ("int32", 3, 6)])
def test_numbers_lie_within_their_bounds(dtype, least, most):
    numbers = np.asarray(tf.random.uniform([200], least, most, getattr(tf, dtype)))

    assert np.dtype(dtype) == numbers.dtype
    assert least <= numbers.min() <= numbers.max() < most
    assert () == tf.random.uniform(()).shape


@pytest.fixture(params=["simulator", "jax"])
def strategy(request):
    kind, options = ("CPU", {"cpus": 3}) if request.param == "jax" else ("GPU", {"gpus": 3})
    with tf.using(request.param, **options):
        yield tf.distribute.MirroredStrategy([f"{kind}:{number}" for number in range(3)])


@pytest.mark.parametrize("once", [False, True])
def test_a_function_draws_new_numbers_in_each_run_and_on_each_replica(strategy, once):
    @tf.function(trace_once=once)
    def draw():
        each = strategy.run(lambda: (tf.random.uniform([4]), tf.random.uniform([4])))
        return each, tf.random.uniform([4])

    found = []
    for _ in range(2):
        each, outside = draw()
        found += [outside, *(value for one in each for value in one.values)]
    texts = {np.asarray(value).tobytes() for value in found}

    assert (14, 1) == (len(texts), draw.experimental_get_tracing_count())


def test_a_seed_makes_the_numbers_of_a_function_repeatable(strategy):
    draw = tf.function(lambda: tf.random.uniform([3], 2, 9, dtype=tf.int32))

    def twice():
        tf.random.set_seed(5)
        return [np.asarray(draw()).tolist() for _ in range(2)]

    first = twice()

    assert first == twice()
    assert all(2 <= number < 9 for one in first for number in one)


def test_numbers_with_a_seed_of_their_own_are_the_same_in_every_mode(strategy):
    def draw():
        return tf.random.uniform([3], seed=7)

    assert np.asarray(draw()).tolist() == np.asarray(tf.function(draw)()).tolist()


def test_numbers_drawn_inside_a_loop_of_jax_are_refused(strategy):
    loop = tf.function(lambda: jax.lax.scan(lambda c, _: (c + tf.random.uniform([]), None), 0.0, None, length=3)[0])
    gradient = tf.function(lambda x: jax.grad(lambda w: w * tf.random.uniform([]))(x))

    with pytest.raises(RuntimeError, match="jit, scan or cond"):
        loop()
    assert 0.0 <= float(gradient(tf.constant(1.0))) < 1.0
