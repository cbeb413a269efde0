import ast
import inspect

import pytest

from refdist._core.base.operators import Operators, add_operators


class Number:
    def __init__(self, value):
        self.value = value


class Unequal:
    def __init__(self, value):
        self.value = value


def value_of(number):
    return number.value if isinstance(number, (Number, Unequal)) else number


add_operators(Number, value_of)
add_operators(Unequal, value_of, truth=False)


def typed():
    """The operators that type checkers know of; at run time there are none of them."""
    tree = ast.parse(inspect.getsource(Operators))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize(
    ("expected", "result"),
    [
        (5, lambda: Number(2) + 3),
        (1, lambda: 3 - Number(2)),
        (8, lambda: Number(2) ** Number(3)),
        (True, lambda: Number(2) < 3),
        (-2, lambda: -Number(2)),
        (2.0, lambda: float(Number(2))),
        ("c", lambda: "abc"[Number(2)]),
    ],
)
def test_an_operator_applies_to_the_values(expected, result):
    assert expected == result()


def test_equality_can_be_left_to_the_class():
    assert Number(2) == 2
    assert Unequal(2) != 2
    assert Unequal(2) + 1 == 3


def test_type_checkers_know_the_operators_that_the_table_gives_to_a_class():
    plain = vars(type("Plain", (), {"__init__": None}))
    given = vars(Number).keys() - plain.keys() - {"__firstlineno__", "__static_attributes__"}

    assert typed() - {"__hash__"} == given
    assert typed().isdisjoint(vars(Operators))
