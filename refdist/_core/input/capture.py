"""Captures the variables that a user's function reads, as they are when the function is given to a dataset."""

import builtins
import dis
import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

Function = Callable[..., Any]


def captured(function: Function) -> Function:
    """Return the same function, with the variables around it fixed to their present values.

    TensorFlow traces a function as soon as it is given to a dataset, so that a loop variable keeps its current value. Here
    the function is called for each element, much later. Variables are fixed, not what they refer to: a list or a
    tf.Variable is not copied. A variable that the function writes, or that a function of the same module which it calls
    writes, is still the one outside.

    >>> def numbered():
    ...     return [captured(lambda: number) for number in (1, 10)]
    >>> [function() for function in numbered()]
    [1, 10]
    """
    inner = _function_in(function)
    if inner is None:
        return function
    functions, home = _reached(inner), inner.__globals__
    written = {name for one in functions for name in _written(one.__code__, "_GLOBAL")}
    read = {name for one in functions for code in _code_objects(one.__code__) for name in code.co_names} - written
    cells = _cells(functions)
    names = _Names(home)
    copies = {id(one): _copy(one, home if _written(one.__code__, "_GLOBAL") else names, cells) for one in functions}
    for cell, copy in cells.values():
        copy.cell_contents = _with_copies(cell.cell_contents, copies)
    for name in read:
        if name in home:
            names[name] = _with_copies(home[name], copies)
        elif hasattr(builtins, name):
            names[name] = getattr(builtins, name)
    return _with_copies(function, copies)


class _Names(dict[str, Any]):
    """The global variables of a function: the captured ones, and otherwise those of its module."""

    def __init__(self, home: dict[str, Any]) -> None:
        super().__init__({name: home[name] for name in ("__builtins__", "__name__", "__file__") if name in home})
        self._home = home

    def __missing__(self, name: str) -> Any:
        return self._home[name]


def _function_in(value: Any) -> types.FunctionType | None:
    """Return the Python function in a value: itself, that of a method, or that of a partial()."""
    if type(value) is functools.partial:
        return _function_in(value.func)
    value = value.__func__ if isinstance(value, types.MethodType) else value
    return value if isinstance(value, types.FunctionType) else None


def _reached(first: types.FunctionType) -> list[types.FunctionType]:
    """Find a function and those of its module that it refers to; only these can have been written in the loop."""
    found = [first]
    for one in found:
        names = [name for code in _code_objects(one.__code__) for name in code.co_names]
        around = [cell.cell_contents for cell in one.__closure__ or () if _is_set(cell)]
        for value in (*around, *(one.__globals__[name] for name in names if name in one.__globals__)):
            inner = _function_in(value)
            if inner is not None and inner.__globals__ is first.__globals__ and inner not in found:
                found.append(inner)
    return found


def _code_objects(code: types.CodeType) -> Iterator[types.CodeType]:
    """Deliver the code of a function, and of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _code_objects(constant)


def _written(code: types.CodeType, kind: str) -> set[str]:
    """Find the outer variables that a function writes, or a function inside it."""
    writes = (f"STORE{kind}", f"DELETE{kind}")
    return {line.argval for one in _code_objects(code) for line in dis.get_instructions(one) if line.opname in writes}


def _cells(functions: list[types.FunctionType]) -> dict[int, tuple[types.CellType, types.CellType]]:
    """Make new cells for the variables of enclosing functions that have a value and that none of the functions writes."""
    pairs = [
        (name in _written(one.__code__, "_DEREF"), cell)
        for one in functions
        for name, cell in zip(one.__code__.co_freevars, one.__closure__ or (), strict=True)
    ]
    written = {id(cell) for writes, cell in pairs if writes}
    return {id(cell): (cell, types.CellType()) for _, cell in pairs if id(cell) not in written and _is_set(cell)}


def _is_set(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018  # pyright: ignore[reportUnusedExpression]
    except ValueError:  # a variable that has no value yet, such as a function that calls itself
        return False
    return True


def _copy(
    function: types.FunctionType, names: dict[str, Any], cells: dict[int, tuple[types.CellType, types.CellType]]
) -> types.FunctionType:
    closure = tuple(cells[id(cell)][1] if id(cell) in cells else cell for cell in function.__closure__ or ())
    copy = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, closure)
    copy.__kwdefaults__, copy.__qualname__ = function.__kwdefaults__, function.__qualname__
    copy.__dict__ = (
        function.__dict__
    )  # the same dict, so that attributes that the function sets on itself are seen outside
    return copy


def _with_copies(value: Any, copies: dict[int, types.FunctionType]) -> Any:
    """Return the same value with copies in place of functions."""
    if type(value) is functools.partial:
        return functools.partial(_with_copies(value.func, copies), *value.args, **value.keywords)
    if isinstance(value, types.MethodType):
        return types.MethodType(_with_copies(value.__func__, copies), value.__self__)
    return copies.get(id(value), value)
