"""The arguments of a call in one form, however they were written."""

import inspect
from collections.abc import Callable
from typing import Any

from refdist._core.base import nest
from refdist._core.base.indexed_slices import ARGUMENTS, IndexedSlices


class Parameters:
    """The parameters of a Python function, so that calls that only look different are recognised as the same."""

    def __init__(self, function: Callable[..., Any]) -> None:
        try:
            found = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):  # some functions written in C do not say
            found = []
        by_place = [one for one in found if one.kind is one.POSITIONAL_OR_KEYWORD]
        # If some parameters are positional-only, names do not say which place is theirs.
        self._by_place = [] if any(one.kind is one.POSITIONAL_ONLY for one in found) else by_place
        self._by_name = {one.name: one.default for one in found if one.kind is one.KEYWORD_ONLY and _has_default(one)}
        self.count = len(self._by_place)
        self.names = [one.name for one in by_place]
        self.plain = not self._by_name

    def placed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The same arguments by position, as far as the names are known, with the defaults that were left out."""
        placed, named = list(args), {**self._by_name, **kwargs}
        for parameter in self._by_place[len(args) :]:
            if parameter.name not in named and not _has_default(parameter):
                break  # it is missing; the function itself will say so
            placed.append(named.pop(parameter.name, parameter.default))
        return tuple(placed), named


def _has_default(parameter: inspect.Parameter) -> bool:
    return parameter.default is not parameter.empty


def taken_apart(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Any]:
    """The leaves of the arguments of a call, and their structure; None where they are the positional arguments themselves."""
    if kwargs or any(isinstance(arg, IndexedSlices) or nest.is_container(arg) for arg in args):
        return nest.taken_apart((args, kwargs), namespace=ARGUMENTS)
    return list(args), None
