"""Python values that a function refers to: they are part of its programs, which do not see when they change."""

import dis
import warnings
from collections.abc import Callable, Sequence
from types import CellType, CodeType
from typing import Any, NamedTuple

from refdist._core.strategies.rebinding import reached

_PLAIN = (bool, int, float, str)
_BINDING = {"STORE_GLOBAL", "STORE_DEREF"}


class Captured(NamedTuple):
    """A value that a function refers to by a name outside of it."""

    name: str
    owner: Any  # a cell, or a dict of globals
    value: Any  # when the function was traced

    def now(self) -> Any:
        """What the name refers to now."""
        return self.owner.cell_contents if isinstance(self.owner, CellType) else self.owner.get(self.name, self.value)


def captured_numbers(fn: Callable[..., Any]) -> tuple[Captured, ...]:
    """The numbers and texts that a function, and those that it calls, refer to; those that it binds itself it may well change."""
    found: dict[tuple[int, str], Captured] = {}
    for code, owners in reached(fn, 2):
        bound = _bound(code)
        names = dict(owners)
        for name, owner in owners:
            if isinstance(owner, CellType) and name not in bound and _plain(contents := _contents(owner)):
                found[id(owner), name] = Captured(name, owner, contents)
        everything: dict[str, Any] = names[""]
        for name in code.co_names:
            if name in everything and name not in bound and _plain(everything[name]):
                found[id(everything), name] = Captured(name, everything, everything[name])
    return tuple(found.values())


def without_changed(captured: Sequence[Captured], fn: Callable[..., Any]) -> tuple[Captured, ...]:
    """Warn of values that have changed since a function was traced, and return the others."""
    same: list[Captured] = []
    for one in captured:
        now = one.now()
        if now is one.value or now == one.value:
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
    return tuple(same)


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return None


def _plain(value: Any) -> bool:
    return type(value) in _PLAIN


def _bound(code: CodeType) -> set[str]:
    """The names outside of it that code binds, or code inside of it."""
    inner = [_bound(one) for one in code.co_consts if isinstance(one, CodeType)]
    return {one.argval for one in dis.get_instructions(code) if one.opname in _BINDING}.union(*inner)
