"""The operators of a variable, from one table: each applies to its value."""

import operator
from collections.abc import Callable
from typing import Any

_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor")
_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
_UNARY = ("neg", "pos", "abs", "invert")
_CONVERSIONS = {"float": float, "int": int, "bool": bool, "index": operator.index, "complex": complex}


def add_operators(kind: type, value_of: Callable[[Any], Any], *, truth: bool = True) -> None:
    """Give a class operators that apply to the values of its objects.

    Args:
        truth: whether also those by which objects are found in sets and conditions: ==, != and bool().
    """

    def binary(function: Callable[[Any, Any], Any]) -> Any:
        return lambda self, other: function(value_of(self), value_of(other))

    def reflected(function: Callable[[Any, Any], Any]) -> Any:
        return lambda self, other: function(value_of(other), value_of(self))

    def unary(function: Callable[[Any], Any]) -> Any:
        return lambda self: function(value_of(self))

    for name in _BINARY:
        setattr(kind, f"__{name.strip('_')}__", binary(getattr(operator, name)))
        setattr(kind, f"__r{name.strip('_')}__", reflected(getattr(operator, name)))
    for name in _COMPARISONS if truth else _COMPARISONS[:4]:
        setattr(kind, f"__{name}__", binary(getattr(operator, name)))
    for name in _UNARY:
        setattr(kind, f"__{name}__", unary(getattr(operator, name)))
    for name, convert in _CONVERSIONS.items():
        if truth or name != "bool":
            setattr(kind, f"__{name}__", unary(convert))
