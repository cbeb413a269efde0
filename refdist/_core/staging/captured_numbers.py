"""Python values that a function refers to: they are part of its programs, which do not see when they change."""

import dis
import operator
import warnings
from collections.abc import Callable, Iterator, Sequence
from types import CellType, CodeType, ModuleType
from typing import Any, NamedTuple

from refdist._core.strategies.rebinding import LIBRARIES, reached

_PLAIN = (bool, int, float, str)
_BINDING = {"STORE_GLOBAL", "STORE_DEREF"}
_NAMING = {"LOAD_DEREF", "LOAD_GLOBAL", "LOAD_FAST", "LOAD_FAST_BORROW"}
_ATTRIBUTE = {"LOAD_ATTR", "LOAD_METHOD"}
_CELL: Any = object()  # the key of a cell, which has no keys


class Captured(NamedTuple):
    """A value that a function refers to by a name outside of it."""

    name: str  # as the function writes it
    owner: Any  # a cell; or a dict: that of globals, of an object's attributes, or one to which the function refers
    key: Any  # in that dict
    value: Any  # when the function was traced

    def now(self) -> Any:
        """What the name refers to now."""
        return _contents(self.owner, self.value) if self.key is _CELL else self.owner.get(self.key, self.value)

    def is_there(self) -> bool:
        """Say whether the name refers to anything now."""
        return _contents(self.owner, _CELL) is not _CELL if self.key is _CELL else self.key in self.owner


def captured_numbers(fn: Callable[..., Any]) -> tuple[Captured, ...]:
    """The numbers and texts that a function, and those that it calls, refer to; those that it binds itself it may well change."""
    found: dict[tuple[int, Any], Captured] = {}

    def note(name: str, owner: Any, key: Any, value: Any) -> None:
        if type(value) in _PLAIN:
            found[id(owner), key] = Captured(name, owner, key, value)

    for code, owners in reached(fn, 2):
        bound = _bound(code)
        names = dict(owners)
        for name, owner in owners:
            if isinstance(owner, CellType) and name not in bound:
                note(name, owner, _CELL, _contents(owner))
        everything: dict[str, Any] = names[""]
        for name in code.co_names:
            if name in everything and name not in bound:
                note(name, everything, name, everything[name])
        for name, key, attribute in _parts(code):
            owner = names.get(name)
            part = f"{name}.{key}" if attribute else f"{name}[{key!r}]"
            held = getattr(owner, "__dict__", None) if attribute else owner
            if type(held) is dict and part not in bound and not (attribute and _of_library(owner)) and key in held:
                note(part, held, key, held[key])
    return tuple(found.values())


class Look(NamedTuple):
    """How to see whether the captured values of one dict, or that of a cell, are what they were.

    A call of a function compares `read(owner)` with the values: one call into C, and a comparison of tuples, which takes the same
    objects for equal without asking them.
    """

    owner: Any
    read: Callable[[Any], tuple[Any, ...]]
    values: tuple[Any, ...]
    captured: tuple[Captured, ...]


def looks_at(captured: Sequence[Captured]) -> tuple[Look, ...]:
    """How to see whether any of some captured values has changed."""
    groups: dict[int, list[Captured]] = {}
    for one in captured:
        groups.setdefault(id(one.owner), []).append(one)
    return tuple(
        # The first stands there twice, because of one value alone there would be no tuple.
        Look(group[0].owner, _reader(group), (group[0].value, *(one.value for one in group)), tuple(group))
        for group in groups.values()
    )


def without_changed(looks: Sequence[Look], fn: Callable[..., Any]) -> tuple[Look, ...]:
    """Warn of values that have changed since a function was traced, and return how to look at the others."""
    same: list[Captured] = []
    for one in (one for look in looks for one in look.captured):
        now = one.now()
        if now is one.value or (type(now) in _PLAIN and now == one.value):
            same.append(one)
            continue
        code = getattr(fn, "__code__", None)
        at = "" if code is None else f" ({code.co_filename}:{code.co_firstlineno})"
        warnings.warn(
            f"{one.name!r} is {now!r}, and was {one.value!r} when the function {getattr(fn, '__qualname__', fn)}{at} was traced; "
            f"expected it to stay, because a Python value is part of the program, which goes on with {one.value!r}. Pass it as an "
            f"argument, or keep it in a tf.Variable.",
            RuntimeWarning,
            stacklevel=3,
        )
    return looks_at([one for one in same if one.is_there()])


def _reader(group: Sequence[Captured]) -> Callable[[Any], tuple[Any, ...]]:
    first = group[0].key
    if first is _CELL:
        return operator.attrgetter("cell_contents", "cell_contents")
    return operator.itemgetter(first, *(one.key for one in group))


def _contents(cell: CellType, otherwise: Any = None) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet, or not any more
        return otherwise


def _of_library(owner: Any) -> bool:
    """Say whether an object is a module, or one whose attributes a library such as Keras looks after."""
    return isinstance(owner, (ModuleType, type)) or any(
        (one.__module__ or "").split(".")[0] in LIBRARIES for one in type(owner).__mro__[:-1]
    )


def _parts(code: CodeType) -> Iterator[tuple[str, Any, bool]]:
    """The attributes, and the items by constant keys, of what code refers to by name: the name, the key, and which it is."""
    for one in (code, *_inner(code)):
        name = key = None
        for step in dis.get_instructions(one):
            if step.opname == "LOAD_CONST" and name is not None:
                key = step.argval
                continue
            if step.opname in _ATTRIBUTE and name is not None:
                yield name, step.argval, True
            elif step.opname.startswith("BINARY_SUBSCR") and name is not None and isinstance(key, (str, int)):
                yield name, key, False
            name, key = (step.argval, None) if step.opname in _NAMING else (None, None)


def _bound(code: CodeType) -> set[str]:
    """The names outside of it, and the parts of what they refer to, that code binds, or code inside of it."""
    found: set[str] = set()
    for one in (code, *_inner(code)):
        name = key = None
        for step in dis.get_instructions(one):
            if step.opname in _BINDING:
                found.add(step.argval)
            elif step.opname == "LOAD_CONST" and name is not None:
                key = step.argval
                continue
            elif step.opname == "STORE_ATTR" and name is not None:
                found.add(f"{name}.{step.argval}")
            elif step.opname == "STORE_SUBSCR" and name is not None:
                found.add(f"{name}[{key!r}]")
            name, key = (step.argval, None) if step.opname in _NAMING else (None, None)
    return found


def _inner(code: CodeType) -> Iterator[CodeType]:
    """The code of functions that are written inside of others."""
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield one
            yield from _inner(one)
