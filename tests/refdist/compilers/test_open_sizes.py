"""Programs that are written for any size, and made for certain ones."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from refdist._core.compilers.open_sizes import open_size, sized

BODIES = {
    "mean": lambda x: x.mean(),
    "statistics": lambda x: (x.std(), x.max(0), x.argmax(0), jnp.sort(x, axis=0)),
    "product": lambda x: x @ jnp.ones((3, 2)),
    "gradient": lambda x: jax.grad(lambda w: jnp.mean(jax.nn.relu(x @ w) ** 2))(jnp.ones((3, 2))),
    "rows": lambda x: (x[0], x[-1], x[:1], x[jnp.arange(x.shape[0]), 1]),
    "shapes": lambda x: (x.reshape(-1), jnp.concatenate([x, x]), jnp.zeros_like(x), x.T),
    "loop": lambda x: lax.scan(lambda total, row: (total + row.sum(), total), 0.0, x),
    "choice": lambda x: lax.cond(x.sum() > 0, lambda y: y * 2, lambda y: y, x),
    "repeated": lambda x: lax.fori_loop(0, x.shape[0], lambda i, total: total + x[i].sum(), 0.0),
    "random": lambda x: jax.random.uniform(jax.random.key(0), x.shape),
    "size": lambda x: x.sum() / x.shape[0],
    "softmax": lambda x: jax.nn.log_softmax(x)[:, 0],
    "compiled": lambda x: jax.jit(lambda y: y * y.shape[0])(x),
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_program_for_any_size_is_that_of_each(name, size):
    x = np.random.default_rng(0).normal(size=(size, 3)).astype(np.float32)
    written = jax.make_jaxpr(BODIES[name])(jax.ShapeDtypeStruct((open_size("size0"), 3), np.float32))

    program = sized(written, {"size0": size})
    found = jax.jit(lambda *given: jax.core.eval_jaxpr(program.jaxpr, program.consts, *given))(x)
    expected = jax.tree.leaves(jax.jit(BODIES[name])(x))

    assert [(one.shape, one.dtype) for one in expected] == [(one.shape, one.dtype) for one in found]
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_what_has_no_open_size_stays_the_very_same():
    written = jax.make_jaxpr(lambda x: x + 1)(1.0)

    assert written is sized(written, {})


def test_two_sizes_are_told_apart():
    a, b = open_size("size0"), open_size("size1")

    assert ((6, 2, 5),) == (sized((a * b, a, b + a), {"size0": 2, "size1": 3}),)
