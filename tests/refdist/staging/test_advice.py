"""What to do about a body of which no program can be written."""

import jax
import jax.numpy as jnp
import pytest

from refdist._core.staging.advice import LEAKED, NO_VALUE, NOWHERE, advice_on, explain


def raised(function, *args):
    with pytest.raises(Exception) as caught:
        function(*args)
    return caught.value


def traced(body):
    return raised(jax.jit(body), 1.0)


@pytest.mark.parametrize(
    "body",
    [bool, float, lambda x: [0, 1][x.astype(int)], lambda x: x.numpy(), lambda x: f"{x:.2f}"],
    ids=["bool", "float", "index", "numpy()", "format"],
)
def test_asking_for_a_value_before_the_program_runs_is_answered_with_what_jax_has_for_it(body):
    assert NO_VALUE is advice_on(traced(body))


def test_asking_where_a_tensor_is_is_answered_with_the_function_that_knows():
    assert NOWHERE is advice_on(traced(lambda x: x.device))


def test_a_tensor_that_has_outlived_its_trace_is_told_to_be_returned():
    kept = []
    jax.jit(lambda x: kept.append(x) or x)(1.0)

    assert LEAKED is advice_on(raised(lambda: kept[0] + 1))


@pytest.mark.parametrize("error", [KeyError("x"), TypeError("no such thing"), AttributeError("device")])
def test_errors_that_have_nothing_to_do_with_traces_get_no_advice(error):
    assert None is advice_on(error)


def test_the_note_names_the_function_and_the_last_line_of_the_user():
    def body(x):
        return jnp.float32(1) if x > 0 else x

    error = traced(body)
    explain(error, body)

    (note,) = [note for note in error.__notes__ if "could not be traced" in note]
    assert "test_the_note_names_the_function_and_the_last_line_of_the_user.<locals>.body" in note
    assert f"{__file__}:" in note
    assert ", in body: " in note


def test_an_error_of_the_users_own_is_left_alone():
    error = raised(lambda: {}["missing"])
    explain(error, lambda: None)

    assert not hasattr(error, "__notes__")
