"""Values and functions as parts of the key that tells the programs of a function apart."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from refdist._core.staging.references import closure_of, defaults_of, globals_of

PLAIN = (bool, int, float, complex, str, bytes, type(None))
_FEW = 32


class ByIdentity:
    """An object as part of a key: equal only to itself, and kept alive by the key."""

    __slots__ = ("_object",)

    def __init__(self, thing: Any) -> None:
        self._object = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByIdentity) and self._object is other._object

    def __hash__(self) -> int:
        return id(self._object)

    def __str__(self) -> str:
        return f"{self._object!r} ({id(self._object):#x})"


class ByValue:
    """An object as part of a key: equal to those that say that they are equal to it, and kept alive by the key."""

    __slots__ = ("_object",)

    def __init__(self, thing: Any) -> None:
        self._object = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByValue) and bool(self._object == other._object)

    def __hash__(self) -> int:
        return hash(self._object)

    def __str__(self) -> str:
        return repr(self._object)


def argument_key(argument: Any) -> Any:
    """An argument that is no tensor as part of a key: equal objects are one kind of input, if they can be hashed."""
    if isinstance(argument, PLAIN):
        return value_key(argument)
    # An array is equal to another in each number by itself.
    plain = type(argument).__hash__ in (None, object.__hash__) or hasattr(argument, "__array__")
    return ByIdentity(argument) if plain else ByValue(argument)


def value_key(value: Any) -> Any:
    """A value as part of a key: Python values by value, everything else by identity."""
    if isinstance(value, float):
        return float, value.hex()  # tells 0.0 from -0.0, and recognises nan
    return (type(value), value) if isinstance(value, PLAIN) else ByIdentity(value)


def function_key(fn: Callable[..., Any]) -> Any:
    """What makes two functions write the same program: their code, and what they refer to."""
    function: Any = fn
    if isinstance(function, functools.partial):
        named = tuple((name, value_key(value)) for name, value in function.keywords.items())
        return function_key(function.func), tuple(map(value_key, function.args)), named
    if inspect.ismethod(function):
        return function_key(function.__func__), ByIdentity(function.__self__)
    code = getattr(function, "__code__", None)
    if code is None:
        return ByIdentity(function)
    referred = [*closure_of(function), *globals_of(function, code), *defaults_of(function)]
    return code, tuple(map(_contents_key, referred))


def _contents_key(value: Any) -> Any:
    """The same for what a function refers to; small containers count with their contents, because these may change."""
    container: Any = value
    if isinstance(value, dict) and len(container) <= _FEW:
        return ByIdentity(value), tuple((value_key(key), value_key(item)) for key, item in container.items())
    if isinstance(value, (list, tuple, set)) and len(container) <= _FEW:
        return ByIdentity(value), tuple(map(value_key, container))
    return value_key(value)
