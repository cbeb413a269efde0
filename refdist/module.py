"""Objects that hold variables under names, so that they can be saved and restored."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from refdist.variables import Variable

_OWN = ("_name", "_waiting", "_count")

Waiting = dict[str, np.ndarray[Any, Any]]


class Module:
    """Keeps variables, and other modules, as attributes; a value restored before they exist waits for them."""

    def __init__(self, name: str | None = None) -> None:
        self._name = name or type(self).__name__.lower()

    @property
    def name(self) -> str:
        """The name given, or that of the class."""
        return getattr(self, "_name", type(self).__name__.lower())

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All variables that can be reached from here."""
        return tuple(shard for _, variable in named_variables(self) for shard in variable.shards)

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """Those variables that are trained."""
        return tuple(variable for variable in self.variables if variable.trainable)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if "_waiting" in self.__dict__:
            waiting, path = self.__dict__["_waiting"]
            give(waiting, value, _join(path, name))


def named_variables(root: Any) -> Iterator[tuple[str, Variable]]:
    """Find the variables below an object, each once, with its path: `layer/kernel`, `layers/0/bias`."""
    return ((path, found) for path, found in _walk(root, "", set()) if isinstance(found, Variable))


def give(waiting: Waiting, value: Any, path: str) -> None:
    """Give saved values to the variables at and below a path; for those to come, the modules there go on waiting."""
    for place, found in list(_walk(value, path, set())):
        if isinstance(found, Variable):
            if place in waiting:
                found.assign(waiting[place])
                del waiting[place]  # only now, so that a value that does not fit is still missed
        elif waiting:
            found.__dict__["_waiting"] = (waiting, place)


def _walk(value: Any, path: str, seen: set[int]) -> Iterator[tuple[str, Variable | Module]]:
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, (Variable, Module)):
        yield path, value
    for name, child in _children(value):
        yield from _walk(child, _join(path, name), seen)


def _children(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Variable):
        return
    if isinstance(value, Module):
        yield from ((name, child) for name, child in vars(value).items() if name not in _OWN)
    elif isinstance(value, Mapping):
        yield from ((str(key), child) for key, child in value.items())
    elif isinstance(value, (list, tuple)):
        yield from ((str(index), child) for index, child in enumerate(value))


def _join(path: str, name: str) -> str:
    name = name.replace("~", "~0").replace("/", "~1")  # as in JSON pointers, so that no two paths are the same
    return f"{path}/{name}" if path else name
