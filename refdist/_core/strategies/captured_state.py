"""Watches the objects of flax.nnx that a replica's function refers to: what each replica changes, is changed once for each.

All replicas share such an object. An optimizer that every replica updates would take as many steps as there are replicas.
"""

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from contextvars import Context
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from refdist._core.base import nest
from refdist._core.base.call_sites import call_site, line_text, where
from refdist._core.base.jax_facts import flax_loaded
from refdist._core.base.pytree_nodes import is_flax_variable, is_mutable
from refdist._core.seam.backend import NOWHERE

LIBRARIES = ("jax", "flax", "optax", "numpy", "refdist", "keras", "builtins")
_FEW = 32  # larger containers hold data
_DEEP = 3  # how many functions that call each other are looked into


def watched(fn: Callable[..., Any], args: Any, kwargs: Any) -> "Watch | None":
    """Begin to watch what a function and its arguments refer to; None where nothing is to be watched."""
    found: dict[int, tuple[str, Any]] = {}
    for name, value in [*referred(fn, _DEEP), *_inside("the argument", [*args, *(kwargs or {}).values()])]:
        if _is_of_flax(value):
            found.setdefault(id(value), (name, value))
    variables = {id(one): (name, one) for name, value in found.values() for one in _variables(value)}
    return Watch(fn, list(variables.values())) if variables else None


Scope = Callable[[int, Context | None], AbstractContextManager[Any]]


class Watch:
    """The variables of flax.nnx that replicas could change, and who has changed which."""

    def __init__(self, fn: Callable[..., Any], named: list[tuple[str, Any]]) -> None:
        self._fn, self._names = fn, [name for name, _ in named]
        self._variables = [variable for _, variable in named]
        self._before = [variable.get_raw_value() for variable in self._variables]
        self._now = list(self._before)
        self._changed: dict[int, int] = {}  # which replica has changed a variable, by its place in the list

    def scope(self, inner: "Scope | None") -> "Scope":
        """What is entered around each stretch of a replica's function, as `lockstep.play` asks for it."""

        def entered(index: int, paused: Context | None) -> AbstractContextManager[Any]:
            return Stretch(self, index, NOWHERE if inner is None else inner(index, paused))

        return entered

    def look(self, index: int) -> None:
        """Raise if a replica has changed what another one has changed before."""
        for place, (variable, known) in enumerate(zip(self._variables, self._now, strict=True)):
            value = variable.get_raw_value()
            if value is not known:
                self._now[place] = value
                first = self._changed.setdefault(place, index)
                if first != index:
                    self._put_back()
                    self._changed.clear()
                    raise RuntimeError(self._text(place, first, index))

    def explain(self, error: BaseException) -> None:
        """Add to an error what a replica has changed before it, which may be why."""
        if self._changed:
            place, index = next(iter(self._changed.items()))
            error.add_note(
                f"Before that, replica {index} has changed {self._names[place]!r}, which all replicas share. Keep what they change "
                f"in a tf.VariableTree, or change it outside of run()."
            )

    def _put_back(self) -> None:
        for variable, value in zip(self._variables, self._before, strict=True):
            if variable.get_raw_value() is not value:
                variable.set_raw_value(value)

    def _text(self, place: int, first: int, second: int) -> str:
        code = getattr(inspect.unwrap(self._fn), "__code__", None)
        function = getattr(self._fn, "__qualname__", repr(self._fn))
        at = f" ({line_text(code.co_filename, code.co_firstlineno)})" if code is not None else ""
        kind = type(self._variables[place]).__name__
        return (
            f"Replicas {first} and {second} have both changed {self._names[place]!r} (its {kind}), to which {function}{at} refers, "
            f"in run() at {where(call_site())}; expected at most one replica to, because all share this object: what each does to "
            f"it is done once for each replica. Keep the state in a tf.VariableTree and assign to that, or change the object "
            f"outside of run(), with what run() has returned. It is as it was before."
        )


class Stretch:
    """One stretch of a replica's function, after which is looked what it has changed."""

    __slots__ = ("_index", "_inner", "_watch")

    def __init__(self, watch: Any, index: int, inner: AbstractContextManager[Any]) -> None:
        self._watch, self._index, self._inner = watch, index, inner

    def __enter__(self) -> Any:
        return self._inner.__enter__()

    def __exit__(self, *exception: Any) -> None:
        self._inner.__exit__(*exception)
        if exception[0] is None:
            self._watch.look(self._index)


def referred(fn: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """What a function refers to, by name: in its closure, its defaults and its globals, and in the functions that it calls."""
    if isinstance(fn, functools.partial):
        yield from _inside("an argument of the partial", [*fn.args, *fn.keywords.values()])
        yield from referred(fn.func, depth)
        return
    if isinstance(fn, MethodType):
        yield "self", fn.__self__
        yield from _attributes("self", fn.__self__)
    elif not isinstance(fn, FunctionType) and not hasattr(fn, "__wrapped__"):
        yield from _attributes(type(fn).__name__, fn)  # an object that can be called
    function = inspect.unwrap(getattr(fn, "__func__", fn))
    if not isinstance(function, FunctionType) or function.__module__.split(".")[0] in LIBRARIES:
        return
    for name, value in _names(function):
        yield from _inside(name, [value])
        if callable(value) and depth > 1 and not _is_of_flax(value) and not isinstance(value, type):
            yield from referred(value, depth - 1)


def _names(function: FunctionType) -> Iterator[tuple[str, Any]]:
    cells: tuple[CellType, ...] = function.__closure__ or ()
    for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not bound yet
            continue
    for value in [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]:
        yield "a default", value
    codes: list[CodeType] = [function.__code__]
    while codes:
        code = codes.pop()
        codes += [const for const in code.co_consts if isinstance(const, CodeType)]
        yield from ((name, function.__globals__[name]) for name in code.co_names if name in function.__globals__)


def _inside(name: str, values: list[Any]) -> Iterator[tuple[str, Any]]:
    """Values, what small containers have in them, and the attributes of objects."""
    for value in values:
        container: Any = value
        if isinstance(value, (list, tuple, dict)) and len(container) <= _FEW:
            yield name, value
            yield from ((name, leaf) for leaf in nest.flatten(container))
        else:
            yield name, value
            yield from _attributes(name, value)


def _attributes(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, (ModuleType, type, FunctionType)) and not _is_of_flax(value):
        for attribute, part in list(getattr(value, "__dict__", {}).items()):
            yield f"{name}.{attribute}", part


def _is_of_flax(value: Any) -> bool:
    return is_mutable(type(value)) or is_flax_variable(type(value))


def _variables(value: Any) -> list[Any]:
    """The variables in an object, without those of random numbers, of which each replica may well draw its own."""
    parts = [value] if is_flax_variable(type(value)) else [one for _, one in flax_loaded().iter_graph(value)]
    return [one for one in parts if is_flax_variable(type(one)) and not _is_random(type(one))]


def _is_random(kind: type) -> bool:
    return any(one.__name__ == "RngState" for one in kind.__mro__)
