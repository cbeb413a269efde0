import pathlib
import re

import pytest

from refdist_bench.benchmark_case import Who
from refdist_bench.devices_at_hand import strategy_on
from refdist_bench.own_step import UnusableStep, found_step, lines, made_step
from tests.refdist_bench.measured_data import measured, result

TIMES = {1: 4.0, 2: 2.0, 4: 2.0}


def scaled(items):
    one = result("own", *(measured(Who.REFDIST, time, name=str(count), first=9.0) for count, time in TIMES.items()))
    return [line.split() for line in lines(one, items)[1:]]


def test_a_step_of_the_same_items_scales_strongly_and_one_of_growing_items_weakly():
    strong = scaled({1: 8, 2: 8, 4: 8})
    weak = scaled({1: 8, 2: 16, 4: 32})

    assert ["strong", "100%", "100%", "50%"] == [row[-1] for row in strong]
    assert ["weak", "100%", "200%", "200%"] == [row[-1] for row in weak]


def test_where_nobody_said_how_many_items_there_are_both_are_shown():
    heads, *rows = scaled({})

    assert ["strong", "weak"] == heads[-2:]
    assert ["50%", "200%"] == rows[-1][-2:]


@pytest.mark.parametrize(
    ("found", "items", "value"),
    [
        (lambda strategy: lambda: strategy.num_replicas_in_sync, None, 2),
        (lambda strategy: (lambda: strategy.num_replicas_in_sync, 8), 8, 2),
        ((lambda strategy: lambda: strategy.num_replicas_in_sync, 16), 16, 2),
        (lambda strategy: strategy.num_replicas_in_sync, None, 2),
    ],
    ids=["a step", "a step and its items", "a function and its items", "the step itself"],
)
def test_a_user_names_a_function_of_a_strategy(found, items, value):
    step, known = made_step(found, strategy_on("simulator", 2))

    assert (value, items) == (step(), known)


def test_a_step_that_needs_arguments_is_refused():
    with pytest.raises(UnusableStep, match="needs arguments; expected one without"):
        made_step(lambda strategy: lambda x: x, strategy_on("simulator", 1))


def test_a_function_that_returns_nothing_is_refused_because_what_it_did_could_not_be_waited_for():
    with pytest.raises(UnusableStep, match=r"returned None; expected a function that does a whole step"):
        made_step(lambda strategy: None, strategy_on("simulator", 1))


@pytest.mark.parametrize(("name", "said"), [("math", "expected module:function"), ("math:nothing", "was not found")])
def test_a_name_that_is_no_step_is_refused(name, said):
    with pytest.raises(UnusableStep, match=said):
        found_step(name)


def test_the_step_of_the_documentation_is_one():
    page = (pathlib.Path(__file__).parents[2] / "docs" / "performance.md").read_text()
    (program,) = re.findall(r'```python title="my_module.py"\n(.*?)```', page, re.DOTALL)
    names = {}
    exec(program, names)
    _, items = made_step(names["step"], strategy_on("simulator", 2))

    assert 256 == items
