"""Python values that a function refers to: they are part of its programs, which do not see when they change."""

import dis
import operator
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import CellType, CodeType, MappingProxyType, ModuleType
from typing import Any, NamedTuple

from refdist._core.base.call_sites import line_text
from refdist._core.strategies.rebinding import Reached, is_of_library, reached, with_inner

_PLAIN = (bool, int, float, str)
_KEYED = (dict, list, MappingProxyType)
_ATTRIBUTE = {"LOAD_ATTR", "LOAD_METHOD"}
_CELL: Any = object()  # the key of a cell, which has no keys
_NOTHING: Any = object()


class Captured(NamedTuple):
    """A value that a function refers to by a name outside of it."""

    name: str  # as the function writes it
    owner: (
        Any  # a cell; or what has keys: globals, the attributes of an object, of a class or of a module, a dict, a list
    )
    key: Any  # in that
    value: Any  # when the function was traced

    def now(self) -> Any:
        """What the name refers to now."""
        return _item(self.owner, self.key, self.value)

    def is_there(self) -> bool:
        """Say whether the name refers to anything now."""
        return _item(self.owner, self.key) is not _NOTHING


def captured_numbers(fn: Callable[..., Any]) -> tuple[Captured, ...]:
    """The numbers and texts that a function, and those that it calls, refer to; those that it binds itself it may well change."""
    found: dict[tuple[int, Any], Captured] = {}
    views: dict[int, Mapping[str, Any]] = {}
    for one in reached(fn, 2):
        for path in _paths(one.code):
            captured = _followed(path, one, views)
            if captured is not None and type(captured.value) in _PLAIN:
                found[id(captured.owner), captured.key] = captured
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
        at = "" if code is None else f" ({line_text(code.co_filename, code.co_firstlineno)})"
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


class _Path(NamedTuple):
    """What code reads: a name, then attributes and items of what that refers to."""

    kind: str  # of the instruction that loads the name
    name: str
    steps: tuple[tuple[Any, bool], ...] = ()  # each a key, and whether it is that of an attribute

    def __str__(self) -> str:
        return self.name + "".join(f".{key}" if attribute else f"[{key!r}]" for key, attribute in self.steps)


def _followed(path: _Path, function: Reached, views: dict[int, Mapping[str, Any]]) -> Captured | None:
    """What a path leads to from a function, if nothing but plain attributes and items is on the way."""
    owner: Any = {"LOAD_GLOBAL": function.space, "LOAD_DEREF": function.cells.get(path.name)}.get(
        path.kind, dict(function.own)
    )
    key: Any = path.name if path.kind != "LOAD_DEREF" else _CELL
    for following, attribute in path.steps:
        value = _item(owner, key)
        owner, key = _attributes(value, views) if attribute else value, following
    value = _item(owner, key)
    return None if value is _NOTHING else Captured(str(path), owner, key, value)


def _item(owner: Any, key: Any, otherwise: Any = _NOTHING) -> Any:
    if key is _CELL:
        return otherwise if owner is None else _contents(owner, otherwise)
    try:
        return owner[key] if type(owner) in _KEYED else otherwise
    except (LookupError, TypeError):
        return otherwise


def _attributes(owner: Any, views: dict[int, Mapping[str, Any]]) -> Any:
    """Where the attributes of an object, a class or a module of the program are; nowhere if a library looks after them."""
    if isinstance(owner, ModuleType):
        name = owner.__name__.partition(".")[0]
        return None if is_of_library(name) or name in sys.stdlib_module_names else vars(owner)
    kinds: tuple[type, ...] = (owner if isinstance(owner, type) else type(owner)).__mro__[:-1]
    if any(is_of_library(one.__module__) for one in kinds):
        return None
    # A class shows another view of its attributes each time.
    return views.setdefault(id(owner), vars(owner)) if isinstance(owner, type) else getattr(owner, "__dict__", None)


def _contents(cell: CellType, otherwise: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet, or not any more
        return otherwise


def _paths(code: CodeType) -> list[_Path]:
    """What code reads, and the functions inside of it, without the names, attributes and items that they bind."""
    read: dict[_Path, None] = {}
    bound = set[Any]()
    for one in with_inner(code):
        path, key = None, _NOTHING
        for step in dis.get_instructions(one):
            name, value = step.opname, step.argval
            if name == "LOAD_CONST" and path is not None:
                key = value
                continue
            if name in {"STORE_GLOBAL", "STORE_DEREF"}:
                bound.add(value)
            elif name == "STORE_ATTR":
                bound.add((value, True))
            elif name == "STORE_SUBSCR" and path is not None and isinstance(key, (str, int)):
                bound.add((key, False))
            path, key = _after(path, key, step, one is code), _NOTHING
            if path is not None:
                read[path] = None
    return [one for one in read if (one.steps[-1] if one.steps else one.name) not in bound]


def _after(path: _Path | None, key: Any, step: dis.Instruction, outermost: bool) -> _Path | None:
    """What is on top of the stack after an instruction, as a path; None where it is anything else."""
    if step.opname in {"LOAD_GLOBAL", "LOAD_DEREF"}:
        return _Path(step.opname, step.argval)
    if (
        "LOAD_FAST" in step.opname and outermost
    ):  # one, or two at once; inside, they are the parameters of that function
        return _Path("LOAD_FAST", step.argval if isinstance(step.argval, str) else step.argval[-1])
    if path is None:
        return None
    if step.opname in _ATTRIBUTE:
        return path._replace(steps=(*path.steps, (step.argval, True)))
    if step.opname.startswith("BINARY_SUBSCR") and isinstance(key, (str, int)):
        return path._replace(steps=(*path.steps, (key, False)))
    return None
