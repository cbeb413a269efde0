"""Programs of a few replicas with products are written out for each; the numbers are those of eager code."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import refdist as tf

ctx = tf.distribute.get_replica_context
RNG = np.random.default_rng(0)
WEIGHTS = RNG.standard_normal((3, 3)).astype(np.float32)
IMAGES = RNG.standard_normal((1, 4, 4, 2)).astype(np.float32)
FILTERS = RNG.standard_normal((2, 2, 2, 3)).astype(np.float32)


def number():
    return ctx().replica_id_in_sync_group


def strategy_of(count):
    with tf.using("simulator", gpus=count):
        return tf.distribute.MirroredStrategy()


def rows(strategy):
    return strategy.run(lambda: tf.constant(np.ones((2, 3), np.float32)) * (number() + 1.0))


def products(program, *args):
    """How many products of matrices the program has, as the compiler is given it."""
    text = program.experimental_get_compiler_ir(*args)(stage="hlo")
    return sum(" dot(" in line for line in text.splitlines())


def product(x):
    return x @ WEIGHTS


def product_and_sum(x):
    return ctx().all_reduce("SUM", x @ WEIGHTS) + x


def product_and_gathering(x):
    return ctx().all_gather(x @ WEIGHTS, axis=1)


def product_and_number(x):
    return x @ WEIGHTS * number()


def convolution(x):
    images = jnp.asarray(IMAGES) * x[0, 0]
    return lax.conv_general_dilated(images, FILTERS, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def product_in_a_helper(x):
    return jax.jit(lambda y: ctx().all_reduce("MEAN", y @ WEIGHTS) * 2.0)(x)


def product_in_a_loop(x):
    return lax.fori_loop(0, 3, lambda _, y: y @ WEIGHTS, x)


def meetings_in_a_loop(x):
    return lax.scan(lambda y, _: (ctx().all_reduce("MEAN", y @ WEIGHTS), None), x, None, length=2)[0]


def gradient_of_a_product(x):
    return ctx().all_reduce("SUM", jax.grad(lambda w: jnp.sum(jnp.tanh(jnp.asarray(x) @ w) ** 2))(jnp.asarray(WEIGHTS)))


BODIES = [
    product,
    product_and_sum,
    product_and_gathering,
    product_and_number,
    convolution,
    product_in_a_helper,
    product_in_a_loop,
    gradient_of_a_product,
]


@pytest.mark.parametrize("count", [1, 3, 9])
@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_a_program_with_products_gives_what_eager_replicas_give(body, count):
    strategy = strategy_of(count)
    value = rows(strategy)
    # Where JAX's own functions meet, eager code cannot pause; one program of one replica after the other can.
    eager = strategy.run(body, args=(value,)) if body is not product_in_a_helper else None
    staged = strategy.run(tf.function(body), args=(value,))
    mine = [np.asarray(part) for part in strategy.experimental_local_results(staged)]
    expected = (
        [np.asarray(part) for part in strategy.experimental_local_results(eager)]
        if eager is not None
        else [np.ones((2, 3), np.float32) @ WEIGHTS * (count + 1)] * count
    )

    np.testing.assert_allclose(expected, mine, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("count", [3, 9])
def test_meetings_in_a_loop_give_the_numbers_of_each_turn(count):
    strategy = strategy_of(count)
    staged = strategy.run(tf.function(meetings_in_a_loop), args=(rows(strategy),))

    expected = np.ones((2, 3), np.float32) * (count + 1) / 2 @ WEIGHTS @ WEIGHTS
    for part in staged.values:
        np.testing.assert_allclose(expected, np.asarray(part), rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize(("count", "expected"), [(1, 1), (2, 2), (8, 8), (9, 1)])
def test_up_to_eight_replicas_each_have_a_product_and_more_of_them_one_with_a_batch(count, expected):
    strategy = strategy_of(count)
    step = tf.function(lambda x: strategy.run(product, args=(x,)))
    with strategy.scope():
        assert expected == products(step, rows(strategy))


def test_a_product_of_what_is_equal_on_all_replicas_is_computed_once():
    strategy = strategy_of(3)
    step = tf.function(lambda x, y: strategy.run(lambda a, b: (a @ WEIGHTS) + (b @ WEIGHTS) * 2.0, args=(x, y)))
    with strategy.scope():
        assert 3 + 1 == products(step, rows(strategy), tf.ones([2, 3]))


def test_what_is_gathered_along_a_new_axis_is_stacked():
    strategy = strategy_of(3)

    def body(x):
        joined = ctx().all_gather((x @ WEIGHTS)[None], axis=0)
        return tf.reduce_sum(joined, axis=0), joined

    total, joined = strategy.run(tf.function(body), args=(rows(strategy),))

    expected = np.stack([np.ones((2, 3), np.float32) * (index + 1) @ WEIGHTS for index in range(3)])
    np.testing.assert_allclose(expected, np.asarray(joined.values[0]), rtol=2e-4, atol=1e-5)
    np.testing.assert_allclose(expected.sum(axis=0), np.asarray(total.values[2]), rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("count", [2, 3])
def test_copies_that_would_come_apart_are_refused_in_a_program_that_is_written_out(count):
    strategy = strategy_of(count)
    with strategy.scope():
        variable = tf.Variable(np.zeros((2, 3), np.float32))
    with pytest.raises(ValueError, match="different values"):
        strategy.run(tf.function(lambda x: variable.assign(x @ WEIGHTS)), args=(rows(strategy),))

    assert not variable.numpy().any()


def test_copies_that_stay_equal_are_written_in_a_program_that_is_written_out():
    strategy = strategy_of(2)
    with strategy.scope():
        variable = tf.Variable(np.zeros((2, 3), np.float32))
    strategy.run(tf.function(lambda x: variable.assign(ctx().all_reduce("SUM", x @ WEIGHTS))), args=(rows(strategy),))

    np.testing.assert_allclose(np.ones((2, 3)) * 3 @ WEIGHTS, variable.numpy(), rtol=2e-4, atol=1e-5)


def test_a_loop_that_ends_on_one_replica_alone_ends_on_all():
    # With a batch axis every replica would take the steps of the others, on numbers for which they have no end.
    strategy = strategy_of(2)

    def body(x):
        if number():
            return lax.while_loop(lambda y: y < 10.0, lambda y: y * 2.0, x)
        return x - 1.0

    value = strategy.run(lambda: tf.constant(1.0) * number())

    assert [-1.0, 16.0] == [float(part) for part in strategy.run(tf.function(body), args=(value,)).values]


def test_what_the_first_replica_says_is_written_in_a_program_that_is_written_out():
    strategy = strategy_of(3)
    with strategy.scope():
        variable = tf.Variable(np.zeros((2, 3), np.float32), aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)
    strategy.run(tf.function(lambda x: variable.assign(x @ WEIGHTS)), args=(rows(strategy),))

    for copy in variable.values:
        np.testing.assert_allclose(np.ones((2, 3)) @ WEIGHTS, copy.numpy(), rtol=2e-4, atol=1e-5)
