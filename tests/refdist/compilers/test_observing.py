"""Operations of JAX are seen as they happen, by any number of blocks, in eager code as in programs."""

import threading

import jax
import jax.numpy as jnp
import pytest
from jax._src.core import eval_trace, trace_ctx

from refdist._core.base.where import entered
from refdist._core.compilers.jax_traces import trace_state, tracing, writing_a_program
from refdist._core.compilers.observing import observed


class Noted:
    """Stands where tapes are, and counts what it is told."""

    def __init__(self):
        self.operations = []

    def note(self, inputs, outputs, operation, backward=None):
        self.operations.append((inputs, outputs, operation))


def test_an_operation_can_be_carried_out_again_with_other_inputs():
    noted = Noted()
    with observed(), entered(tapes=noted):
        total = jnp.add(jnp.float32(1), jnp.float32(2))

    _, outputs, operation = noted.operations[-1]
    assert outputs[0] is total
    assert float(operation(jnp.float32(3), jnp.float32(4))[0]) == 7.0


def test_functions_with_derivatives_of_their_own_are_one_operation():
    noted = Noted()
    with observed(), entered(tapes=noted):
        jax.nn.relu(jnp.arange(3.0) - 1)
        jax.nn.softplus(jnp.float32(1))

        @jax.custom_jvp
        def own(x):
            return x * 2

        own.defjvp(lambda primals, tangents: (own(*primals), tangents[0] * 100))
        own(jnp.float32(3))

    (x,), outputs, operation = noted.operations[-1]
    assert float(outputs[0]) == 6.0
    assert float(jax.grad(lambda value: operation(value)[0])(x)) == 100.0


def test_blocks_may_be_left_in_any_order():
    first, second = observed(), observed()
    first.__enter__()
    second.__enter__()
    first.__exit__()
    noted = Noted()
    with entered(tapes=noted):
        jnp.float32(1) + 1
    second.__exit__()

    assert noted.operations
    assert trace_ctx.trace is eval_trace


def test_an_error_leaves_jax_as_it_was():
    with pytest.raises(ZeroDivisionError), observed():
        1 / 0  # noqa: B018

    assert trace_ctx.trace is eval_trace


def test_observed_code_counts_as_outside_of_traces():
    with observed():
        assert not tracing()


def test_in_a_program_the_operations_are_seen_and_written():
    noted, seen = Noted(), []

    def body(x):
        before = trace_state()
        with observed(), entered(tapes=noted):
            assert tracing()
            assert writing_a_program()
            seen.append(trace_state() == before)
            return jnp.sin(x) * 2

    program = jax.make_jaxpr(body)(1.0)

    assert seen == [True]
    assert len(noted.operations) >= 2
    assert float(jax.jit(body)(1.0)) == pytest.approx(1.682942)
    assert "sin" in str(program)


def test_threads_do_not_see_each_other():
    noted = Noted()

    def other():
        assert trace_ctx.trace is eval_trace

    with observed(), entered(tapes=noted):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
