"""What programs of JAX ask of a device is counted as their operations say."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from refdist._core.compilers.costs import cost_of
from refdist._core.compilers.jax_traces import tracing
from refdist._core.compilers.metering import metered

SQUARE = jax.ShapeDtypeStruct((64, 64), np.float32)
BYTES = 4 * 64 * 64
PRODUCT = 2 * 64**3


def cost(function, *specs, replicas=None):
    axes = [("replica", replicas)] if replicas else None
    return cost_of(jax.make_jaxpr(function, axis_env=axes)(*specs).jaxpr)


def kinds(found):
    return [step.kind for step in found.steps]


def test_a_product_takes_two_operations_for_each_multiplication():
    found = cost(lambda x: x @ x, SQUARE)

    assert PRODUCT == found.flops
    assert ["compute"] == kinds(found)


def test_a_convolution_takes_two_operations_for_each_multiplication():
    image, kernel = (jax.ShapeDtypeStruct(shape, np.float32) for shape in ((2, 3, 16, 16), (8, 3, 5, 5)))
    found = cost(lambda x, k: jax.lax.conv(x, k, (1, 1), "VALID"), image, kernel)

    assert 2 * (2 * 8 * 12 * 12) * (3 * 5 * 5) == found.flops


def test_a_loop_counts_each_turn_and_a_condition_its_longest_branch():
    loop = cost(lambda x: jax.lax.scan(lambda c, _: (c @ c, None), x, None, length=7)[0], SQUARE)
    branches = cost(lambda x: jax.lax.cond(x[0, 0] > 0, lambda x: x @ x @ x, lambda x: x @ x, x), SQUARE)

    assert 7 * PRODUCT == loop.flops
    assert 2 * PRODUCT <= branches.flops < 2 * PRODUCT + 100


def test_an_exchange_begins_with_what_it_needs_and_work_waits_for_what_it_needs():
    def body(x):
        early = jax.lax.psum(x @ x, "replica")
        late = x @ (x + 1.0)
        return early @ late

    first, exchange, between, after = cost(body, SQUARE, replicas=2).steps

    assert (PRODUCT, "all_reduce", BYTES) == (first.flops, exchange.kind, exchange.size_bytes)
    assert {0} == exchange.needs
    assert set() == between.needs
    assert PRODUCT + 64 * 64 == between.flops
    assert {1} == after.needs
    assert PRODUCT == after.flops


def test_exchanges_inside_a_loop_are_repeated_one_after_the_other():
    def body(x):
        return jax.lax.scan(lambda c, _: (jax.lax.psum(c @ c, "replica"), None), x, None, length=3)[0]

    found = cost(body, SQUARE, replicas=2)
    exchanges = [index for index, step in enumerate(found.steps) if step.kind == "all_reduce"]

    assert 3 == len(exchanges)
    assert 3 * PRODUCT == found.flops
    for before, after in itertools.pairwise(exchanges):
        reached, todo = set(), {after}
        while todo:
            reached |= todo
            todo = {need for index in todo for need in found.steps[index].needs} - reached
        assert before in reached


def test_a_gathering_is_told_from_a_sum():
    found = cost(lambda x: jax.lax.all_gather(x, "replica"), SQUARE, replicas=2)

    assert "all_gather" in kinds(found)


def test_the_room_of_a_program_is_what_is_alive_at_once():
    chain = cost(lambda x: jnp.cos(jnp.sin(jnp.exp(x))), SQUARE)

    def all_at_once(x):
        first, second, third = jnp.sin(x), jnp.cos(x), jnp.exp(x)
        return first + second + third

    kept = cost(all_at_once, SQUARE)

    assert 2 * BYTES == chain.peak_bytes
    assert 4 * BYTES == kept.peak_bytes


def test_the_gradient_of_a_deep_program_keeps_what_it_needs():
    def loss(x, depth):
        for _ in range(depth):
            x = jnp.sin(x)
        return x.sum()

    shallow, deep = (cost(jax.grad(lambda x, d=d: loss(x, d)), SQUARE).peak_bytes for d in (4, 16))

    assert deep - shallow >= 12 * BYTES


def test_what_is_called_at_once_is_told_by_name_and_in_order():
    seen = []
    x = jnp.ones((64, 64))
    double = jax.jit(lambda x: x @ x + x @ x)
    with metered(lambda flops, moved, name, inputs: seen.append((flops, name))):
        assert not tracing()
        jax.lax.dot(x, x)
        double(x)
        double(x)
    double(x)

    assert [PRODUCT, "dot_general"] == list(seen[0])
    assert 3 == len(seen)
    assert seen[1] == seen[2]
    assert 2 * PRODUCT <= seen[1][0] < 2.1 * PRODUCT


def test_nothing_is_told_of_what_is_traced():
    seen = []

    @jax.jit
    def traced(x):
        with metered(lambda flops, moved, name, inputs: seen.append(name)):
            return x + 1.0

    traced(jnp.ones(3))

    assert [] == seen


def test_meters_lie_inside_each_other_and_end_with_an_error():
    outer, inner = [], []
    x = jnp.ones(3)
    with metered(lambda *what: outer.append(what)):
        with pytest.raises(ZeroDivisionError), metered(lambda *what: inner.append(what)):
            jax.lax.add(x, x)
            raise ZeroDivisionError
        jax.lax.mul(x, x)
    jax.lax.sub(x, x)

    assert ["add"] == [name for _, _, name, _ in inner]
    assert ["mul"] == [name for _, _, name, _ in outer]
