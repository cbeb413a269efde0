"""Finds variables that a replica's function replaces by a plain tensor, where it should assign to them.

`self.count = self.count + 1` binds the name to a tensor: the variable is gone, and each replica goes on with a tensor of its own.
"""

import dis
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any, NamedTuple

from refdist._core.replicas.context import get_replica_context
from refdist._core.variables.variable import Variable

QUIET: dict[int, CodeType] = {}
"""Code that binds no name outside of itself, nor does what it calls: by id, and kept alive, so that no other gets that id."""

_MOST_QUIET = 4096
_DEEP = 3  # how many functions that call each other are looked into
_LIBRARIES = ("jax", "flax", "optax", "numpy", "refdist", "keras", "builtins", "equinox")
_GLOBALS = ""  # the name of the dict of globals
_BINDING = {"STORE_ATTR", "STORE_GLOBAL", "STORE_DEREF"}


class _Name(NamedTuple):
    """A name that refers to a variable, and where code binds it."""

    owner: Any  # an object or a dict of globals; or a cell, which has no name inside
    name: str
    shown: str
    variable: Variable
    place: str


class Rebinding:
    """The names of variables that a function could bind to something else."""

    def __init__(self, names: list[_Name]) -> None:
        self._names = names

    def look(self) -> None:
        """Raise if a replica has bound one of the names to something else; it refers to the variable again."""
        for one in self._names:
            now = _bound(one.owner, one.name)
            if now is not one.variable:
                _bind(one.owner, one.name, one.variable)
                replica = get_replica_context()
                number = "" if replica is None else f" in replica {replica.replica_id_in_sync_group}"
                raise RuntimeError(
                    f"{one.shown!r}, the variable {one.variable.name!r}, was replaced by a {type(now).__name__}{number} at "
                    f"{one.place}; expected it to stay the variable, because a tensor is that of one replica, and nobody keeps it "
                    f"equal. Write {one.shown}.assign(...). It is the variable again."
                )


def watched(fn: Callable[..., Any]) -> Rebinding | None:
    """Find the variables whose names a function binds; None where there are none."""
    if not any(_stores(code) for code, _ in reached(fn, _DEEP)):
        code = getattr(fn, "__code__", None)
        if isinstance(code, CodeType) and len(QUIET) < _MOST_QUIET:
            QUIET[id(code)] = code
        return None
    names = [name for code, owners in reached(fn, _DEEP) for name in _variables(code, owners)]
    return Rebinding(names) if names else None


Owners = list[tuple[str, Any]]


def reached(fn: Any, depth: int) -> Iterator[tuple[CodeType, Owners]]:
    """The code of a function and of those that it names, each with the objects that it can reach, by name."""
    function = getattr(fn, "__func__", fn)
    if not isinstance(function, FunctionType) or (function.__module__ or "").split(".")[0] in _LIBRARIES:
        return
    code, owners = (
        function.__code__,
        [] if not isinstance(fn, MethodType) else [(_name_of_object(function), fn.__self__)],
    )
    cells: tuple[CellType, ...] = function.__closure__ or ()
    for name, cell in zip(code.co_freevars, cells, strict=True):
        owners += [(name, cell), *([(name, cell.cell_contents)] if _filled(cell) else [])]
    owners += [(name, function.__globals__[name]) for name in code.co_names if name in function.__globals__]
    owners.append((_GLOBALS, function.__globals__))
    yield code, owners
    if depth > 1:
        for _, owner in owners:
            if isinstance(owner, (FunctionType, MethodType)):
                yield from reached(owner, depth - 1)
            elif hasattr(owner, "__dict__") and not isinstance(owner, (type, Variable)):
                for name in code.co_names:
                    method = getattr(type(owner), name, None)
                    if isinstance(method, FunctionType):
                        yield from reached(MethodType(method, owner), depth - 1)


def _name_of_object(function: FunctionType) -> str:
    """What a method calls its object."""
    names = function.__code__.co_varnames
    return names[0] if names else "self"


def _filled(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:  # not bound yet
        return False


def _stores(code: CodeType) -> bool:
    return any(one.opname in _BINDING for one in dis.get_instructions(code))


def _variables(code: CodeType, owners: Owners) -> Iterator[_Name]:
    """The names of variables that code binds."""
    line = code.co_firstlineno
    for one in dis.get_instructions(code):
        line = one.starts_line or line
        if one.opname not in _BINDING:
            continue
        place = f"{code.co_filename}:{line}, in {code.co_name}"
        for shown, owner in owners:
            if one.opname == "STORE_DEREF" and not (isinstance(owner, CellType) and shown == one.argval):
                continue
            if (one.opname == "STORE_GLOBAL") != (shown == _GLOBALS) or (isinstance(owner, dict) and shown != _GLOBALS):
                continue
            variable = _bound(owner, one.argval)
            if isinstance(variable, Variable):
                name = f"{shown}.{one.argval}" if one.opname == "STORE_ATTR" else one.argval
                yield _Name(owner, one.argval, name, variable, place)


def _bound(owner: Any, name: str) -> Any:
    if isinstance(owner, CellType):
        return owner.cell_contents if _filled(owner) else None
    return owner.get(name) if isinstance(owner, dict) else getattr(owner, "__dict__", {}).get(name)


def _bind(owner: Any, name: str, value: Any) -> None:
    if isinstance(owner, CellType):
        owner.cell_contents = value
    elif isinstance(owner, dict):
        owner[name] = value
    else:
        setattr(owner, name, value)
