"""Facts are followed through every kind of step, and through the programs inside of steps."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from refdist._core.compilers.reduction_flow import ReductionFlow
from refdist._core.compilers.reduction_states import State

OWN = State(varying=True, origins=frozenset({("argument", 0)}))


def kinds(function, rows=5):
    """What is found in a function of a batch, on three replicas."""

    def written(size):
        return jax.make_jaxpr(function, axis_env=[("replica", 3)])(jnp.ones((size, 2))).jaxpr

    flow = ReductionFlow(3, [rows])
    for end in flow.follow(written(rows), written(2 * rows), [OWN]):
        for finding in end.pending:
            flow.found(finding)
    return sorted(finding.kind for finding in flow.findings.values())


def total(value):
    return lax.psum(value, "replica")


def with_derivative(function):
    """A function whose derivative is written by hand."""
    made = jax.custom_jvp(function)
    made.defjvp(lambda values, tangents: jax.jvp(function, values, tangents))
    return made


INSIDE = {
    "jit": lambda f: jax.jit(f),
    "remat": lambda f: jax.checkpoint(f),
    "cond": lambda f: lambda x: lax.cond(jnp.array(True), f, f, x),
    "scan": lambda f: lambda x: lax.scan(lambda carry, _: (carry + f(x), None), 0.0, None, length=2)[0],
    "while": lambda f: lambda x: lax.fori_loop(0, 2, lambda _, carry: carry + f(x), 0.0),
    "custom_jvp": lambda f: with_derivative(f),
}


@pytest.mark.parametrize("inside", INSIDE)
def test_a_mean_that_is_summed_is_found_inside_of_steps(inside):
    assert ["local-mean-summed"] == kinds(INSIDE[inside](lambda x: total(jnp.mean(x))))
    assert [] == kinds(INSIDE[inside](lambda x: total(jnp.sum(x))))


@pytest.mark.parametrize("rows", [2, 3, 6])
def test_a_mean_over_features_is_not_one_over_rows(rows):
    assert [] == kinds(lambda x: total(jnp.sum(jnp.mean(x, axis=1))), rows)
    assert ["local-mean-summed"] == kinds(lambda x: total(jnp.mean(x)), rows)


def test_a_mean_that_is_divided_by_the_replicas_is_right():
    assert [] == kinds(lambda x: total(jnp.mean(x)) / 3)
    assert [] == kinds(lambda x: total(jnp.mean(x) / 3))
    assert [] == kinds(lambda x: total(jnp.mean(x)) / total(1.0))
    assert [] == kinds(lambda x: total(jnp.sum(x) / (3 * x.shape[0])))


def test_what_does_not_reach_a_result_is_not_told():
    assert [] == kinds(lambda x: (total(jnp.mean(x)), x)[1])


def test_normalised_rows_are_no_normalised_sums():
    def normalised(x):
        return (x - x.mean(0)) / jnp.sqrt(x.var(0) + 1e-3)

    assert [] == kinds(lambda x: total(jnp.sum(normalised(x) ** 2)))
    assert [] == kinds(lambda x: total(jax.grad(lambda w: jnp.sum(jnp.tanh(normalised(x * w))))(jnp.ones(2))))


def test_a_gradient_scaled_by_its_norm_is_found():
    def clipped(x):
        gradient = jax.grad(lambda w: jnp.sum((x * w) ** 2))(jnp.ones(2))
        return total(gradient / jnp.maximum(jnp.linalg.norm(gradient), 1.0))

    assert ["bent-before-reduce"] == kinds(clipped)


def test_a_program_without_a_twin_is_looked_at_for_what_needs_no_sizes():
    jaxpr = jax.make_jaxpr(lambda x: total(total(jnp.mean(x))), axis_env=[("replica", 3)])(jnp.ones((5, 2))).jaxpr
    (end,) = ReductionFlow(3, []).follow(jaxpr, None, [OWN])

    assert ["reduced-twice"] == [finding.kind for finding in end.pending]
