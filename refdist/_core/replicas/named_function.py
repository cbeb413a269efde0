"""A function that replicas bring to a meeting, compared between them."""

import functools
from collections.abc import Sequence
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


class UpdateOf:
    """What an optimizer changes, in a meeting: which variables, in which order. Compared by identity, printed by name."""

    def __init__(self, name: str, variables: Sequence[Any], own: Any = None) -> None:
        # Not the optimizer: each replica may have made one, but what that keeps in variables is common to all.
        self._key = (id(own), *map(id, variables))
        self._name, self._variables, self._own = name, variables, own

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UpdateOf) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __str__(self) -> str:
        names = [repr(one.name) for one in self._variables]
        more = f" and {len(names) - 4} more" if len(names) > 4 else ""
        return f"an update of {', '.join(names[:4])}{more} by the optimizer {self._name!r}"
