"""Operators on integers and indices in programs: as outside of them, and not in JAX's own way, which others keep."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import refdist as tf

DTYPES = ["int8", "uint8", "int16", "int32", "int64"]


@pytest.fixture(params=["host", "simulator", "jax"])
def strategy(request):
    kind, options = ("CPU", {"cpus": 3}) if request.param == "jax" else ("GPU", {"gpus": 3})
    with tf.using(request.param, **options):
        yield tf.distribute.MirroredStrategy([f"{kind}:{number}" for number in range(3)])


@pytest.fixture
def virtual():
    with tf.using("simulator", gpus=2):
        yield tf.distribute.MirroredStrategy()


def numbers(value):
    array = np.asarray(value)
    return array.dtype.name, array.tolist()


@pytest.mark.parametrize("index", [4, -5])
def test_an_index_beyond_the_end_is_an_error_known_or_not(strategy, index):
    known = tf.function(lambda x: x[index])
    unknown = tf.function(lambda x, at: x[at])

    for call in (lambda: known(tf.range(4.0)), lambda: unknown(tf.range(4.0), tf.constant(index))):
        with pytest.raises(IndexError):
            call()
    assert [3.0, 0.0] == [float(unknown(tf.range(4.0), tf.constant(at))) for at in (3, -4)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_integers_are_divided_alike_in_and_outside_of_functions(virtual, dtype):
    x, y = (tf.cast(tf.constant(values), dtype) for values in ([7, 6], [2, 3]))
    kind = "float64" if dtype in ("int32", "int64") else "float32"
    for divide, dividend, divisor in [
        (lambda a, b: a / b, x, y),
        (lambda a, b: a / 2, x, y),
        (lambda a, b: 7 / b, x, y),
    ]:
        eager, staged = divide(dividend, divisor), tf.function(divide)(dividend, divisor)

        assert (kind, numbers(eager)) == (staged.dtype.name, numbers(staged))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "divide", [lambda a, b: a // b, lambda a, b: a % b, lambda a, b: 7 // b, lambda a, b: a // 0], ids="abcd"
)
def test_integers_divided_by_zero_are_an_error(virtual, dtype, divide):
    values = [tf.cast(tf.constant(values), dtype) for values in ([7, 6], [2, 0])]
    for call in (divide, tf.function(divide)):
        with pytest.raises(ZeroDivisionError, match="divided by zero"):
            call(*values)


def test_outside_of_our_programs_jax_does_what_it_always_does():
    x, wrong, zero = jnp.arange(4), jnp.asarray(9), jnp.asarray(0)
    before = tf.function(lambda a, b: a // b)(tf.constant(7), tf.constant(2))  # by now the operators are installed
    user = jax.jit(lambda x, at, by: (x[at], x // by))

    assert 3 == int(before)
    assert (3, (4,)) == (int(x[wrong]), (x // zero).shape)
    assert (3, (4,)) == (int(user(x, wrong, zero)[0]), user(x, wrong, zero)[1].shape)


@pytest.mark.parametrize(
    ("take", "axis", "size"),
    [
        (lambda x, at: x[at], 0, 2),
        (lambda x, at: x[0, at], 1, 3),
        (lambda x, at: x[:, at], 1, 3),
        (lambda x, at: x[at, 1], 0, 2),
    ],
)
def test_the_axis_of_an_index_that_is_not_there_is_named(virtual, take, axis, size):
    taken = tf.function(take)
    x = tf.reshape(tf.range(6), (2, 3))

    assert np.asarray(take(np.asarray(x), size - 1)).tolist() == np.asarray(taken(x, tf.constant(size - 1))).tolist()
    with pytest.raises(
        IndexError, match=f"beyond the {size} elements of axis {axis} of a tensor; expected {-size} to {size - 1}"
    ):
        taken(x, tf.constant(size))


def test_an_index_behind_a_new_axis_or_dots_is_not_taken_for_one_of_the_first_axes(virtual):
    x, at = tf.reshape(tf.range(10), (5, 1, 2)), tf.constant(4)

    for take in (lambda x, at: x[None, at], lambda x, at: x.T[..., at]):
        assert take(np.asarray(x), 4).tolist() == np.asarray(tf.function(take)(x, at)).tolist()


def test_several_indices_are_all_looked_at(virtual):
    rows = tf.function(lambda x, at: x[at])

    assert [3, 0] == np.asarray(rows(tf.range(4), tf.constant([3, -4]))).tolist()
    with pytest.raises(IndexError):
        rows(tf.range(4), tf.constant([0, 4]))


def test_floats_are_divided_by_zero_as_everywhere(virtual):
    x, zero = tf.constant([1.0, -1.0]), tf.constant(0.0)

    assert [np.inf, -np.inf] == np.asarray(tf.function(lambda a, b: a / b)(x, zero)).tolist()
    assert np.isnan(np.asarray(tf.function(lambda a, b: a % b)(x, zero))).all()


def test_a_variable_divides_as_its_value_does(virtual):
    with virtual.scope():
        two, zero = tf.Variable(2), tf.Variable(0)
    divide = tf.function(lambda x, by: x // by)

    assert [3, 3] == np.asarray(divide(tf.constant([7, 6]), two)).tolist()
    with pytest.raises(ZeroDivisionError, match="divided by zero"):
        divide(tf.constant([7, 6]), zero)


def test_large_integers_are_divided_exactly_where_numbers_are_exact(virtual):
    big = np.int64([2**40 + 1, 2**52 + 1])
    eager, staged = tf.constant(big) / 2, tf.function(lambda x: x / 2)(tf.constant(big))

    assert numbers(eager) == numbers(staged) == ("float64", [2**39 + 0.5, 2**51 + 0.5])


@pytest.mark.parametrize("operate", [lambda x: x / 2.0, lambda x: 2.0 / x, lambda x: x // 2.0, lambda x: x % 1.5])
def test_integers_and_numbers_with_a_point_give_what_they_give_eagerly(virtual, operate):
    x = tf.constant([1, 2])

    assert np.asarray(operate(x)).tolist() == np.asarray(tf.function(operate)(x)).tolist()
