"""What numpy computes in the place of JAX is what JAX computes: the numbers, the dtype, and whether a number is Python's own."""

import logging

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from refdist._core.compilers import host_arithmetic
from refdist._core.compilers.observing import computed_with_numpy

X = np.linspace(0.1, 2.3, 12, dtype=np.float32).reshape(3, 4)
Y = np.cos(X) - 0.3
N = np.arange(12, dtype=np.int32).reshape(3, 4) - 5
B = N % 2 == 0

EXPRESSIONS = {
    "arithmetic": lambda x, y, n, b: x * y - x / y + (-x) - n.astype(np.float32),
    "numbers of Python": lambda x, y, n, b: 2 * x + 0.5 - x / 3 + n // 1 * 0 + x**2 + x**0.5 + x**3,
    "a number alone": lambda x, y, n, b: jnp.add(1.5, 2),
    "functions": lambda x, y, n, b: jnp.exp(y) + jnp.log(x) + jnp.log1p(x) + jnp.expm1(y) + jnp.tanh(y) + jnp.sqrt(x),
    "signs": lambda x, y, n, b: jnp.abs(y) + jnp.sign(y) + jnp.floor(y) + jnp.ceil(y) + jnp.clip(y, -0.1, 0.2),
    "waves": lambda x, y, n, b: jnp.sin(x) + jnp.cos(y) + jax.lax.rsqrt(x) + jax.nn.sigmoid(y),
    "relu": lambda x, y, n, b: jax.nn.relu(y),
    "softmax": lambda x, y, n, b: jax.nn.softmax(y) + jax.nn.log_softmax(y),
    "gelu": lambda x, y, n, b: jax.nn.gelu(y),
    "comparisons": lambda x, y, n, b: (x > y) & (x >= 1) | (n == 3) ^ (n != 2) & ~b | (n < 1) | (n <= -3),
    "choices": lambda x, y, n, b: jnp.where(b, x, 0.0) + jnp.maximum(x, y) + jnp.minimum(y, 0.1),
    "sums": lambda x, y, n, b: x.sum(0) + y.prod(0) + x.max(0) + y.min(0) + x.mean(0) + jnp.var(y, 0),
    "sums of integers": lambda x, y, n, b: n.sum(1) + n.max(1),
    "any and all": lambda x, y, n, b: b.any(0) | b.all(0),
    "the mean of everything": lambda x, y, n, b: x.mean(),
    "products": lambda x, y, n, b: x @ y.T + jnp.tensordot(x, y, axes=([1], [1])),
    "products of rows": lambda x, y, n, b: jnp.einsum("ij,ij->i", x, y),
    "products of batches": lambda x, y, n, b: jnp.einsum("bi,bj->bij", x, y),
    "shapes": lambda x, y, n, b: jnp.concatenate([x.reshape(4, 3), x.T])[:, None, ::-1].squeeze(1)[1:7:2],
    "padding": lambda x, y, n, b: jnp.pad(x, ((1, 0), (0, 2)), constant_values=7.0),
    "broadcasts": lambda x, y, n, b: jnp.broadcast_to(x[0], (3, 4)) + jnp.ones_like(x) + jnp.zeros((3, 1)),
    "places": lambda x, y, n, b: jnp.argmax(y, 1) + jnp.argmin(y, 1),
    "one hot": lambda x, y, n, b: jax.nn.one_hot(jnp.argmax(y, 1), 4),
    "running sums": lambda x, y, n, b: jnp.cumsum(y, 1),
    "counting": lambda x, y, n, b: jnp.arange(4) + jax.lax.iota(np.int32, 4),
    "to integers": lambda x, y, n, b: x.astype(np.int32) + y.astype(np.int32),
    "bits": lambda x, y, n, b: jax.lax.bitcast_convert_type(x, np.uint32) >> np.uint32(9),
    "norms": lambda x, y, n, b: jnp.linalg.norm(y) + jax.nn.logsumexp(y),
    "infinity": lambda x, y, n, b: jnp.log(x * 0) + 1 / (x * 0),
    "nothing": lambda x, y, n, b: x[:0].mean(0) + x[:0].sum(0),
    "gradients": lambda x, y, n, b: jax.grad(lambda w: (jax.nn.relu(x @ w.T) ** 2).mean())(y),
}


@pytest.fixture(scope="module")
def expected():
    """What JAX computes, all in one program."""
    return jax.jit(lambda *given: {name: one(*given) for name, one in EXPRESSIONS.items()})(X, Y, N, B)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_numpy_computes_what_jax_does(name, expected):
    with computed_with_numpy():
        result = EXPRESSIONS[name](*map(jnp.asarray, (X, Y, N, B)))
    wanted = expected[name]
    assert (result.shape, result.dtype, result.weak_type) == (wanted.shape, wanted.dtype, wanted.weak_type)
    np.testing.assert_allclose(result, wanted, rtol=2e-6, atol=1e-6)


def test_a_wrong_line_of_the_table_is_found(expected, monkeypatch):
    monkeypatch.setitem(host_arithmetic.TABLE, "max", host_arithmetic.TABLE["min"])
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        test_numpy_computes_what_jax_does("relu", expected)


def test_nothing_is_compiled_for_what_is_in_the_table(caplog):
    with jax.log_compiles(), caplog.at_level(logging.WARNING), computed_with_numpy():
        jax.nn.relu(jnp.ones([7, 3]) * 2.0) @ jnp.ones([3, 5])
    assert "Compiling" not in caplog.text


def test_what_is_not_in_the_table_is_left_to_jax():
    with computed_with_numpy():
        np.testing.assert_array_equal(jnp.sort(jnp.asarray([3.0, 1.0, 2.0])), [1.0, 2.0, 3.0])


def test_results_do_not_share_the_memory_of_others():
    given = np.ones(4, np.float32)
    with computed_with_numpy():
        result = jnp.reshape(jnp.asarray(given), [2, 2]) + 0
        given[:] = 7
    np.testing.assert_array_equal(result, np.ones([2, 2]))


def test_numbers_of_16_bits_are_left_to_jax():
    with computed_with_numpy():
        total = jnp.full([2048], 0.1, jnp.bfloat16).sum()
    assert total.dtype == jnp.bfloat16
    assert float(total) == float(jax.jit(jnp.sum)(jnp.full([2048], 0.1, jnp.bfloat16)))
