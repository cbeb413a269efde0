"""Whether a function branches or loops: only then is it worth converting before it is called."""

import dis
import inspect
import types
from collections.abc import Iterator
from types import CodeType
from typing import Any

from refdist._core.staging.references import closure_of, globals_of

_MOST_FUNCTIONS = 64
_LOOP = dis.opmap["FOR_ITER"]
_BRANCHING = frozenset(
    place for name, place in dis.opmap.items() if ("JUMP" in name and "_IF_" in name) or name == "UNARY_NOT"
)
_COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})
_PYTHON_LOOPS = frozenset({"zip", "enumerate"})  # what they return is no tensor, whatever they are given


def branches(function: Any) -> bool:
    """Say whether a function of the user, or one that it names, has an `if`, a loop, or the like.

    It may call others that cannot be seen from here; what these branch on shows when they are called.
    """
    return any(map(_has_branches, _reached(function)))


def names(function: Any, name: str) -> bool:
    """Say whether a function of the user, or one that it names, has an attribute or a global of this name in its code."""
    return any(name in code.co_names for code in _reached(function))


def _reached(function: Any) -> Iterator[CodeType]:
    """The code of a function, and of those that it names."""
    seen: set[CodeType] = set()
    waiting = [function]
    while waiting and len(seen) < _MOST_FUNCTIONS:
        one = waiting.pop()
        code = getattr(getattr(one, "__func__", one), "__code__", None)
        if not isinstance(code, CodeType) or code in seen:
            continue
        seen.add(code)
        yield from _codes(code)
        waiting += _named(one)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _codes(const)


def _has_branches(code: CodeType) -> bool:
    instructions = code.co_code[::2]
    if any(place in _BRANCHING for place in instructions):
        return True
    # A comprehension is always a loop of Python.
    return _LOOP in instructions and code.co_name not in _COMPREHENSIONS and not _loops_in_python(code)


def _loops_in_python(code: CodeType) -> bool:
    """Say whether every `for` goes through a `zip` or an `enumerate`, which are not tensors: most steps have such a loop.

    A call has the position of the name that it calls, which tells one from the calls in its arguments.
    """
    instructions = list(dis.get_instructions(code))
    starts = {
        (one.positions.lineno, one.positions.col_offset)
        for one in instructions
        if one.opname == "LOAD_GLOBAL" and one.argval in _PYTHON_LOOPS and one.positions is not None
    }
    for made, start, loop in zip(instructions, instructions[1:], instructions[2:], strict=False):
        if start.opname != "GET_ITER" or loop.opname != "FOR_ITER":  # a comprehension gets its iterator, too
            continue
        place = made.positions
        if not made.opname.startswith("CALL") or place is None or place.col_offset is None:
            return False
        if (place.lineno, place.col_offset) not in starts:
            return False
    return True


def _named(function: Any) -> list[Any]:
    """The functions of the user that a function names: as variables, or as methods of its object."""
    plain = getattr(function, "__func__", function)
    named = closure_of(plain)
    names: set[str] = set()
    for code in _codes(plain.__code__):
        named += globals_of(plain, code)
        names.update(code.co_names)
    owner: Any = getattr(function, "__self__", None)
    if owner is not None:
        named += [inspect.getattr_static(owner.__class__, name, None) for name in names]
    found = [getattr(one, "python_function", one) for one in named]
    return [
        one
        for one in found
        if isinstance(one, (types.FunctionType, types.MethodType)) and not one.__module__.startswith("refdist.")
    ]
