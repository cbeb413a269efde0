import jax
import jax.numpy as jnp
import numpy as np
import pytest

from refdist._core.base.jax_facts import (
    asks_for_a_value,
    is_concrete,
    is_jax,
    is_tracer,
    loaded,
    outlived_its_trace,
    staging,
    tracing,
)
from tests.children import run_python


def seen_inside(transform):
    """What is said of an argument, and of the traces, inside a transformation."""
    seen = []

    def body(x):
        seen.append((is_jax(x), is_tracer(x), is_concrete(x), tracing(), staging()))
        return x * x

    transform(body)
    return seen[0]


def test_jax_is_loaded_once_somebody_has_imported_it():
    done = run_python(
        "from refdist._core.base.jax_facts import loaded, staging, tracing\nprint(loaded(), tracing(), staging())\n"
        "import jax\nprint(loaded() is jax, tracing(), staging())"
    )

    assert "None False False\nTrue False False\n" == done.stdout, done.stderr
    assert jax is loaded()


def test_eager_replicas_need_no_jax_where_it_must_not_be_imported():
    done = run_python(
        "import sys; sys.modules['jax'] = None\n"
        "import refdist as tf\n"
        "strategy = tf.distribute.MirroredStrategy(['GPU:0', 'GPU:1'])\n"
        "with strategy.scope():\n"
        "    variable = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)\n"
        "strategy.run(lambda: variable.assign_add(tf.distribute.get_replica_context().all_reduce('SUM', 1.0)))\n"
        "print(variable.numpy())",
        REFDIST_BACKEND="simulator:gpus=2",
    )

    assert "4.0\n" == done.stdout, done.stderr


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


@pytest.mark.parametrize("ask", [bool, float, int, np.asarray], ids=["bool", "float", "int", "numpy"])
def test_errors_of_asking_for_a_value_are_known(ask):
    with pytest.raises(Exception) as caught:
        jax.jit(ask)(1.0)

    assert asks_for_a_value(caught.value)
    assert not outlived_its_trace(caught.value)


def test_errors_of_tensors_that_have_outlived_their_trace_are_known():
    kept = []
    jax.jit(lambda x: kept.append(x) or x)(1.0)
    with pytest.raises(Exception) as caught:
        kept[0] + 1

    assert outlived_its_trace(caught.value)
    assert not asks_for_a_value(ValueError("something else"))
