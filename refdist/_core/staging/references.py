"""What a Python function refers to: what it closes over, its defaults, and the global names in its code."""

import functools
import inspect
from collections.abc import Callable
from types import CellType, CodeType
from typing import Any

from refdist._core.base import nest
from refdist._core.input.position import Loop
from refdist._core.replicas.values import DistributedValues
from refdist._core.strategies.strategy import StrategyBase
from refdist._core.variables.variable import Variable

_MOST_FUNCTIONS = 32


def closure_of(fn: Any) -> list[Any]:
    """What a function closes over, as far as it is bound already."""
    cells: tuple[CellType, ...] = getattr(fn, "__closure__", None) or ()
    return [cell.cell_contents for cell in cells if _bound(cell)]


def defaults_of(fn: Any) -> list[Any]:
    """The defaults of a function's parameters."""
    return [*(getattr(fn, "__defaults__", None) or ()), *(getattr(fn, "__kwdefaults__", None) or {}).values()]


def globals_of(fn: Any, code: CodeType) -> list[Any]:
    """The globals of a function that some code names."""
    return [fn.__globals__[name] for name in code.co_names if name in fn.__globals__]


def closes_over_tensors(fn: Callable[..., Any]) -> bool:
    """Say whether a function made anew in each step brings along a value that a program would take for a constant."""
    given: Any = fn
    brought: list[Any] = []
    if isinstance(given, functools.partial):
        brought += [*given.args, *given.keywords.values()]
        given = given.func
    brought += [*closure_of(given), *defaults_of(given)]
    leaves = [leaf for thing in brought for leaf in nest.flatten(thing)]
    tensors = [leaf for leaf in leaves if isinstance(leaf, DistributedValues) or hasattr(leaf, "__array__")]
    return any(not isinstance(leaf, Variable) for leaf in tensors)


def mentioned_iterators(fn: Callable[..., Any]) -> list[Loop]:
    """The iterators over data that a function names."""
    return [thing for thing in mentioned(fn) if isinstance(thing, Loop)]


def mentioned_strategy(fn: Callable[..., Any]) -> StrategyBase | None:
    """The one strategy that a function names, or that its object has; None if there is none, or several."""
    found = {id(thing): thing for thing in mentioned(fn) if isinstance(thing, StrategyBase)}
    several = [strategy for strategy in found.values() if strategy.extended.plan.name != "default"]
    return several[0] if len(several) == 1 else None


def mentioned(fn: Callable[..., Any]) -> list[Any]:
    """What a function names, and what its object has; and the same for the functions of its package among these."""
    functions, things = [inspect.unwrap(fn)], list[Any]()
    for one in functions:
        function: Any = one.func if isinstance(one, functools.partial) else one
        named = list(getattr(getattr(function, "__self__", None), "__dict__", {}).values())
        function = getattr(function, "__func__", function)
        named += closure_of(function)
        code: CodeType | None = getattr(function, "__code__", None)
        codes = [code, *(const for const in code.co_consts if inspect.iscode(const))] if code is not None else []
        named += [thing for inner in codes for thing in globals_of(function, inner)]
        things += named
        inner = [inspect.unwrap(thing) for thing in named if callable(thing) and _package(thing) == _package(fn)]
        functions += [thing for thing in inner if thing not in functions and len(functions) < _MOST_FUNCTIONS]
    return things


def _package(thing: Any) -> str:
    module = getattr(thing, "__module__", None)
    return module.partition(".")[0] if isinstance(module, str) else ""


def _bound(cell: CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True
