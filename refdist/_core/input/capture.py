"""What a function of the user reads from around it, as it is when the function is given to a dataset."""

import builtins
import dis
import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

Function = Callable[..., Any]


def captured(function: Function) -> Function:
    """The same function, for which the variables around it keep the values that they have now.

    TensorFlow traces a function when it is given to a dataset, so that a loop variable has the value of its turn. Here it
    is called for each element, much later. What a variable refers to is not copied: a list or a tf.Variable lives on. A
    variable that the function writes, or a function of the same module that it calls, is still the one outside.

    >>> def numbered():
    ...     return [captured(lambda: turn) for turn in (1, 10)]
    >>> [function() for function in numbered()]
    [1, 10]
    """
    inner = _plain(function)
    if inner is None:
        return function
    functions, home = _reached(inner), inner.__globals__
    written = {name for one in functions for name in _written(one.__code__, "_GLOBAL")}
    read = {name for one in functions for code in _codes(one.__code__) for name in code.co_names} - written
    cells = _cells(functions)
    names = _Names(home)
    copies = {id(one): _copy(one, home if _written(one.__code__, "_GLOBAL") else names, cells) for one in functions}
    for cell, copy in cells.values():
        copy.cell_contents = _renewed(cell.cell_contents, copies)
    for name in read:
        if name in home:
            names[name] = _renewed(home[name], copies)
        elif hasattr(builtins, name):
            names[name] = getattr(builtins, name)
    return _renewed(function, copies)


class _Names(dict[str, Any]):
    """The global variables of a function: those of its module, where nothing was kept."""

    def __init__(self, home: dict[str, Any]) -> None:
        super().__init__({name: home[name] for name in ("__builtins__", "__name__", "__file__") if name in home})
        self._home = home

    def __missing__(self, name: str) -> Any:
        return self._home[name]


def _plain(value: Any) -> types.FunctionType | None:
    """The Python function in a value, if it is one, or a method, or a partial() of one."""
    if type(value) is functools.partial:
        return _plain(value.func)
    value = value.__func__ if isinstance(value, types.MethodType) else value
    return value if isinstance(value, types.FunctionType) else None


def _reached(first: types.FunctionType) -> list[types.FunctionType]:
    """A function and those of its module that it refers to: others were not written in the loop that changes a variable."""
    found = [first]
    for one in found:
        names = [name for code in _codes(one.__code__) for name in code.co_names]
        around = [cell.cell_contents for cell in one.__closure__ or () if _is_set(cell)]
        for value in (*around, *(one.__globals__[name] for name in names if name in one.__globals__)):
            inner = _plain(value)
            if inner is not None and inner.__globals__ is first.__globals__ and inner not in found:
                found.append(inner)
    return found


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code of a function, and of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _written(code: types.CodeType, kind: str) -> set[str]:
    """The variables from around a function that it writes, or a function inside it."""
    writes = (f"STORE{kind}", f"DELETE{kind}")
    return {line.argval for one in _codes(code) for line in dis.get_instructions(one) if line.opname in writes}


def _cells(functions: list[types.FunctionType]) -> dict[int, tuple[types.CellType, types.CellType]]:
    """New cells for the variables of enclosing functions that have a value, and that none of the functions writes."""
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
    except ValueError:  # a variable that gets its value later, such as a function that calls itself
        return False
    return True


def _copy(
    function: types.FunctionType, names: dict[str, Any], cells: dict[int, tuple[types.CellType, types.CellType]]
) -> types.FunctionType:
    closure = tuple(cells[id(cell)][1] if id(cell) in cells else cell for cell in function.__closure__ or ())
    copy = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, closure)
    copy.__kwdefaults__, copy.__qualname__ = function.__kwdefaults__, function.__qualname__
    copy.__dict__ = function.__dict__  # the very one: what the function notes about itself is seen outside
    return copy


def _renewed(value: Any, copies: dict[int, types.FunctionType]) -> Any:
    """The same value with copies in place of functions."""
    if type(value) is functools.partial:
        return functools.partial(_renewed(value.func, copies), *value.args, **value.keywords)
    if isinstance(value, types.MethodType):
        return types.MethodType(_renewed(value.__func__, copies), value.__self__)
    return copies.get(id(value), value)
