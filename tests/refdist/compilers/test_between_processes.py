"""What processes compare by digest, and which numbers may differ between them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as generators

from refdist._core.compilers.between_processes import digests, with_numbers_as_constants, with_outputs_to_compare
from refdist._core.seam.compiler import WrittenProgram

DTYPES = ["float32", "float16", "bfloat16", "int32", "int8", "uint16", "bool", "complex64"]


@given(generators.sampled_from(DTYPES), generators.lists(generators.integers(0, 100), max_size=9), generators.data())
def test_digests_are_equal_exactly_where_tensors_are(dtype, numbers, data):
    tensor = jnp.asarray(numbers).astype(dtype)
    (same,) = digests([jnp.asarray(numbers).astype(dtype)])

    assert digests([tensor])[0] == same
    if numbers:
        place = data.draw(generators.integers(0, len(numbers) - 1))
        changed = tensor.at[place].set(~tensor[place] if dtype == "bool" else tensor[place] + jnp.asarray(1, dtype))
        assert digests([changed])[0] != same


def test_a_digest_knows_places_and_signs():
    (first,) = digests([jnp.asarray([1.0, 2.0])])

    assert first not in digests([jnp.asarray([2.0, 1.0]), jnp.asarray([-1.0, 2.0]), jnp.asarray([1.0, jnp.nan])])


def written(function, *specs, own=()):
    jaxpr = jax.make_jaxpr(function, axis_env=[("replicas", 2)])(*specs)
    count = len(jaxpr.jaxpr.outvars)
    return WrittenProgram(
        jaxpr, own or (False,) * len(specs), (False,) * count, tuple(range(len(specs))), (), frozenset(), False
    )


SCALAR = jax.ShapeDtypeStruct((), "float32")


def test_outputs_are_compared_that_depend_on_a_plain_value_without_a_reduction():
    def program(weight, plain):
        return weight - 0.1, weight - plain, weight - jax.lax.psum(plain, "replicas"), plain * 2.0

    found = with_outputs_to_compare(written(program, SCALAR, SCALAR), [True, False], [0, 1, 2])

    assert ((1,), {1}) == (found.compared, found.by_digest)


def test_a_constant_is_each_process_own():
    constant = np.asarray([3.0, 4.0], "float32")
    found = with_outputs_to_compare(written(lambda weight: weight * constant, SCALAR), [True], [0])

    assert (0,) == found.compared


@pytest.mark.parametrize(("common", "allowed"), [([], True), ([1], True), ([0], False), ([0, 1], False)])
def test_numbers_may_differ_unless_they_reach_what_has_to_be_the_same(common, allowed):
    program = written(lambda weight: (weight * 5.0, weight - jax.lax.psum(3.0 * weight, "replicas")), SCALAR)
    loosened = with_numbers_as_constants(with_outputs_to_compare(program, [True], common))

    assert allowed == (loosened is not None)
    if loosened is not None:
        assert {5.0, 3.0} <= {float(constant) for constant in loosened.jaxpr.consts}
        assert "5.0" not in str(loosened.jaxpr.jaxpr)
