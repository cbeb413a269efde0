"""The arguments of a call in one form, however they were written."""

import pytest

from refdist._core.staging.parameters import Parameters


def usual(x, y=2, *, scale=1.0):
    return x, y, scale


@pytest.mark.parametrize(
    ("args", "kwargs"), [((1,), {}), ((1, 2), {}), ((), {"x": 1}), ((), {"y": 2, "x": 1}), ((1,), {"scale": 1.0})]
)
def test_one_call_has_one_form(args, kwargs):
    assert ((1, 2), {"scale": 1.0}) == Parameters(usual).placed(args, kwargs)


def test_what_is_missing_stays_missing():
    assert ((), {"y": 3, "scale": 1.0}) == Parameters(usual).placed((), {"y": 3})


def test_arguments_that_have_a_place_only_are_left_as_they_are():
    def positional(x, /, y=2):
        return x, y

    assert ((1,), {"y": 3}) == Parameters(positional).placed((1,), {"y": 3})


def test_what_does_not_say_its_parameters_takes_what_comes():
    assert ((1,), {"default": 2}) == Parameters(max).placed((1,), {"default": 2})
