"""Python values that a function refers to: they are part of its programs, which do not see when they change."""

import builtins
import operator
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import CellType, MappingProxyType, ModuleType
from typing import Any, NamedTuple

from refdist._core.base.call_sites import line_text
from refdist._core.staging.code_reads import Path, reads_of
from refdist._core.strategies.rebinding import Reached, is_of_library, reached
from refdist._core.variables.variable import Variable

_PLAIN = (bool, int, float, str)
_KEYED = (dict, list, MappingProxyType)
_LOGGING = {"logging", "absl.logging"}
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
    """The numbers, texts and variables that a function, and those that it calls, refer to.

    What it binds itself it may well change, and what is only printed or logged is no part of a program.
    """
    found: dict[tuple[int, Any], Captured] = {}
    views: dict[int, Mapping[str, Any]] = {}
    for one in reached(fn, 2):
        for path, given_to in reads_of(one.code):
            if given_to is not None and _only_tells(given_to, one, views):
                continue
            captured = _followed(path, one, views)
            if captured is not None and _can_be_told(captured):
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
        if now is one.value or (type(now) in _PLAIN and type(one.value) in _PLAIN and now == one.value):
            same.append(one)
            continue
        code = getattr(fn, "__code__", None)
        at = "" if code is None else f" ({line_text(code.co_filename, code.co_firstlineno)})"
        warnings.warn(
            f"{one.name!r} is {_shown(now, one.value)}, and was {_shown(one.value)} when the function "
            f"{getattr(fn, '__qualname__', fn)}{at} was traced; expected it to stay, because {_part_of_program(one)}",
            RuntimeWarning,
            stacklevel=3,
        )
    return looks_at([one for one in same if one.is_there()])


def _shown(value: Any, before: Any = None) -> str:
    """A value in a message; of a variable the name alone, because a read of it may be something that workers do together."""
    if not isinstance(value, Variable):
        return repr(value)
    return "another variable" if isinstance(before, Variable) else f"the variable {value.name!r}"


def _part_of_program(one: Captured) -> str:
    if isinstance(one.value, Variable):
        return f"the program goes on with the variable that it was traced with. Write {one.name}.assign(...)."
    return (
        f"a Python value is part of the program, which goes on with {one.value!r}. Pass it as an argument, or keep it in a "
        f"tf.Variable."
    )


def _reader(group: Sequence[Captured]) -> Callable[[Any], tuple[Any, ...]]:
    first = group[0].key
    if first is _CELL:
        return operator.attrgetter("cell_contents", "cell_contents")
    return operator.itemgetter(first, *(one.key for one in group))


def _followed(path: Path, function: Reached, views: dict[int, Mapping[str, Any]]) -> Captured | None:
    """What a path leads to from a function, if nothing but plain attributes and items is on the way."""
    cell = function.cells.get(path.name) if path.kind == "LOAD_DEREF" else None
    owner: Any = cell
    if cell is None:  # a parameter that a function inside reads is in a cell, too, which exists during the call only
        owner = function.space if path.kind == "LOAD_GLOBAL" else dict(function.own)
    key: Any = path.name if cell is None else _CELL
    for following, attribute in path.steps:
        value = _item(owner, key)
        owner, key = _attributes(value, views) if attribute else value, following
    value = _item(owner, key)
    return None if value is _NOTHING else Captured(str(path), owner, key, value)


def _can_be_told(one: Captured) -> bool:
    """Say whether a change of a value can be told: of plain values, and of variables, one look at an object for all of them.

    Functions close over many variables, and each cell would be a look of its own in every call.
    """
    return type(one.value) in _PLAIN or (one.key is not _CELL and isinstance(one.value, Variable))


def _only_tells(callee: Path, function: Reached, views: dict[int, Mapping[str, Any]]) -> bool:
    """Say whether what is called prints or logs: `print`, and the functions of `logging` and the methods of its loggers."""
    if callee == Path("LOAD_GLOBAL", "print"):
        return function.space.get("print", builtins.print) is builtins.print
    owner = None if not callee.steps else _followed(callee._replace(steps=callee.steps[:-1]), function, views)
    if owner is None:
        return False
    kinds: tuple[type, ...] = type(owner.value).__mro__
    logs = owner.value.__name__ in _LOGGING if isinstance(owner.value, ModuleType) else None
    return any(one.__module__ in _LOGGING for one in kinds) if logs is None else logs


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
