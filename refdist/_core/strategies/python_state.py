"""Watches Python objects that a replica's function refers to: what every replica changes, is changed once for each of them."""

import collections
import dis
import inspect
import itertools
import warnings
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from contextvars import Context
from types import FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from refdist._core.base.call_sites import call_site, frames_to_program, line_text, where
from refdist._core.base.errors import HostEffectWarning
from refdist._core.seam.backend import NOWHERE
from refdist._core.strategies.captured_state import LIBRARIES, Scope, Stretch, referred

_DEEP = 3  # how many functions that call each other are looked into
_MOST = 10_000  # elements of a container that are looked at one by one
_TOGETHER = "its size"  # what all replicas change together who let a container grow

Content = dict[Hashable, Any]


class _Place(NamedTuple):
    name: str
    content: Callable[[], Content]  # what is there, in parts that replicas may change by themselves
    kind: str


class PythonWatch:
    """The containers, attributes, cells and globals that replicas could change, and who has changed what."""

    def __init__(self, fn: Any, args: Any, kwargs: Any) -> None:
        self._fn, self._places = fn, _places(fn, [*args, *(kwargs or {}).values()])
        self._before = self._now = [place.content() for place in self._places]
        self._changed: dict[tuple[int, Hashable], list[int]] = {}

    def scope(self, inner: Scope | None) -> Scope:
        """What is entered around each stretch of a replica's function, as `lockstep.play` asks for it."""

        def entered(index: int, paused: Context | None) -> AbstractContextManager[Any]:
            return Stretch(self, index, NOWHERE if inner is None else inner(index, paused))

        return entered

    def look(self, index: int) -> None:
        """Note what a replica has changed since the last look."""
        now = [place.content() for place in self._places]
        for number, (before, after) in enumerate(zip(self._now, now, strict=True)):
            for part in _changed(before, after):
                replicas = self._changed.setdefault((number, part), [])
                if index not in replicas:
                    replicas.append(index)
        self._now = now

    def tell(self, *, traced: bool = False) -> None:
        """Warn about everything that several replicas have changed in one place."""
        told: set[int] = set()
        for (number, _), replicas in self._changed.items():
            if len(replicas) > 1 and number not in told:
                told.add(number)
                place = self._places[number]
                shown = f"from {_shown(self._before[number])} to {_shown(self._now[number])}"
                when = (
                    f"{len(replicas)} times while the function was traced, and never again when the program runs"
                    if traced
                    else f"once for each of the {len(replicas)} replicas {', '.join(map(str, replicas[:4]))}"
                    f"{', ...' * (len(replicas) > 4)}"
                )
                warnings.warn(
                    f"{place.kind} {place.name!r} was changed inside of {_described(self._fn)}, {when} ({shown}), in run() at "
                    f"{where(call_site())}; expected replicas to leave alone what they share, or to change a part of their own, "
                    f"such as shared[replica_id]. Return the value, and change the object outside of run().",
                    HostEffectWarning,
                    stacklevel=frames_to_program(),
                )


def _places(fn: Any, arguments: list[Any]) -> list[_Place]:
    found: dict[Hashable, _Place] = {}
    for name, value in [*referred(fn, _DEEP), *(("an argument", value) for value in arguments)]:
        for key, place in _of_value(name, value):
            found.setdefault(key, place)
    for function in _functions(fn, _DEEP):
        for key, place in _of_names(function):
            found.setdefault(key, place)
    return list(found.values())


def _of_value(name: str, value: Any) -> list[tuple[Hashable, _Place]]:
    kind = type(value)
    if any(base.__module__.split(".")[0] in _FOREIGN for base in kind.__mro__):
        return []
    if isinstance(value, (list, collections.deque)):
        return [(id(value), _Place(name, lambda: _of_sequence(value), f"The {kind.__name__}"))]
    if isinstance(value, (dict, set)):
        return [(id(value), _Place(name, lambda: _of_keys(value), f"The {kind.__name__}"))]
    if isinstance(value, itertools.count):
        return [(id(value), _Place(name, lambda: {_TOGETHER: repr(value)}, "The iterator"))]
    if kind is np.ndarray:
        return [(id(value), _Place(name, lambda: _of_array(value), "The array"))]
    if isinstance(value, (ModuleType, type, FunctionType, MethodType)) or not hasattr(value, "__dict__"):
        return []
    attributes: dict[str, Any] = vars(value)
    own = _Place(name, lambda: {**attributes}, f"An attribute of the {kind.__name__}")
    inner = [one for key, part in list(attributes.items()) if _holds(part) for one in _of_value(f"{name}.{key}", part)]
    return [(id(value), own), *inner]


def _of_names(function: FunctionType) -> list[tuple[Hashable, _Place]]:
    """The names that a function binds anew: cells that it shares with the function around it, and globals."""
    found: list[tuple[Hashable, _Place]] = []
    names = {one.argval for one in dis.get_instructions(function) if one.opname in ("STORE_GLOBAL", "STORE_DEREF")}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        if name in names:
            found.append((id(cell), _Place(name, lambda cell=cell: _of_cell(cell), "The nonlocal name")))
    space = function.__globals__
    found += [
        ((id(space), name), _Place(name, lambda name=name: {_TOGETHER: space.get(name)}, "The global name"))
        for name in names
        if name in space
    ]
    return found


def _functions(fn: Any, depth: int) -> list[FunctionType]:
    function = inspect.unwrap(getattr(fn, "__func__", getattr(fn, "func", fn)))
    if not isinstance(function, FunctionType) or function.__module__.split(".")[0] in LIBRARIES:
        return []
    if depth == 1:
        return [function]
    called = [value for _, value in referred(function, 1) if isinstance(value, FunctionType)]
    return [function, *(inner for one in called for inner in _functions(one, depth - 1))]


def _of_cell(cell: Any) -> Content:
    try:
        return {_TOGETHER: cell.cell_contents}
    except ValueError:  # not bound yet
        return {}


def _of_sequence(value: Any) -> Content:
    return {_TOGETHER: len(value), **(dict(enumerate(value)) if len(value) <= _MOST else {})}


def _of_keys(value: Any) -> Content:
    if isinstance(value, set):
        return {_TOGETHER: len(value)}
    return {("at", key): part for key, part in value.items()}


def _of_array(value: Any) -> Content:
    return dict(enumerate(value.ravel().tolist())) if value.size <= _MOST else {_TOGETHER: hash(value.tobytes())}


def _changed(before: Content, after: Content) -> list[Hashable]:
    """The parts that differ; elements that make a container grow are not parts of anybody's own."""
    grown = _TOGETHER in before and isinstance(before[_TOGETHER], int) and before[_TOGETHER] != after.get(_TOGETHER)
    if grown:
        return [_TOGETHER]
    return [
        part
        for part in (before if before.keys() == after.keys() else {**before, **after})
        if (part in before) != (part in after)
        or (before[part] is not after[part] and not _equal(before[part], after[part]))
    ]


def _equal(one: Any, other: Any) -> bool:
    """Say whether two plain values are equal; of all others, only the same object is."""
    return type(one) is type(other) and isinstance(one, (int, float, str, bool)) and one == other


def _shown(content: Content) -> str:
    if set(content) == {_TOGETHER} and not isinstance(content[_TOGETHER], (list, dict)):
        return repr(content[_TOGETHER])[:40]
    size = content.get(_TOGETHER)
    if isinstance(size, int):
        return f"{size} elements"
    return ", ".join(f"{_key(part)}={value!r}"[:40] for part, value in list(content.items())[:3]) or "nothing"


def _key(part: Any) -> Any:
    return part[1] if isinstance(part, tuple) else part


def _holds(value: Any) -> bool:
    return isinstance(value, (list, dict, set, collections.deque)) or type(value) is np.ndarray


def _described(fn: Any) -> str:
    function = inspect.unwrap(getattr(fn, "__func__", fn))
    code = getattr(function, "__code__", None)
    at = f" ({line_text(code.co_filename, code.co_firstlineno)})" if code is not None else ""
    return f"{getattr(fn, '__qualname__', repr(fn))}{at}"


_FOREIGN = frozenset(LIBRARIES) - {"builtins", "numpy"}
