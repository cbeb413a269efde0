"""A function that replicas bring to a meeting, compared between them."""

import functools
from typing import Any


class NamedFunction:
    """A function in a meeting, and how it is called: compared by its code, printed by its name."""

    def __init__(self, function: Any, *called: Any) -> None:
        while isinstance(function, functools.partial):
            function = function.func
        function = getattr(function, "__func__", function)
        self._code = getattr(function, "__code__", None) or type(function)
        self._called = called

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedFunction) and self._code is other._code and self._called == other._called

    def __hash__(self) -> int:
        return hash(self._code)

    def __str__(self) -> str:
        name = getattr(self._code, "co_name", None) or self._code.__name__
        count, keywords = self._called
        return f"{name} with {', '.join([f'{count} arguments', *keywords])}"
