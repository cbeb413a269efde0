import jax
import jax.numpy as jnp
import numpy as np

from refdist._core.base.jax_facts import is_concrete, is_jax, is_tracer, staging, tracing


def seen_inside(transform):
    """What is said of an argument, and of the traces, inside a transformation."""
    seen = []

    def body(x):
        seen.append((is_jax(x), is_tracer(x), is_concrete(x), tracing(), staging()))
        return x * x

    transform(body)
    return seen[0]


def test_no_trace_is_open_outside_of_transformations():
    assert not tracing()
    assert not staging()


def test_inside_of_grad_and_vmap_a_trace_is_open_but_no_program_is_made():
    assert seen_inside(lambda body: jax.grad(body)(1.0)) == (True, True, False, True, False)
    assert seen_inside(lambda body: jax.vmap(body)(jnp.ones(2))) == (True, True, False, True, False)


def test_inside_of_jit_a_program_is_made():
    assert seen_inside(lambda body: jax.jit(body)(1.0)) == (True, True, False, True, True)


def test_arrays_of_jax_have_numbers_and_those_of_numpy_are_not_of_jax():
    assert (True, False, True) == (is_jax(jnp.ones(2)), is_tracer(jnp.ones(2)), is_concrete(jnp.ones(2)))
    assert (False, False, False) == (is_jax(np.ones(2)), is_tracer(np.ones(2)), is_concrete(np.ones(2)))
