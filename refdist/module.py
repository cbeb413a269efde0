"""Objects that hold variables under names, so that they can be saved and restored."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from refdist.variables import Variable


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
        return tuple(variable for _, variable in named_variables(self))

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """Those variables that are trained."""
        return tuple(variable for variable in self.variables if variable.trainable)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        waiting: dict[str, np.ndarray[Any, Any]] | None = self.__dict__.get("_waiting")
        if waiting:
            fill(value, name, waiting)


def named_variables(root: Any) -> Iterator[tuple[str, Variable]]:
    """Find the variables below an object, each once, with its path: `layer/kernel`, `layers/0/bias`."""
    seen: set[int] = set()

    def walk(value: Any, path: str) -> Iterator[tuple[str, Variable]]:
        if id(value) in seen:
            return
        seen.add(id(value))
        if isinstance(value, Variable):
            yield path, value
        for name, child in _children(value):
            yield from walk(child, f"{path}/{name}" if path else name)

    yield from walk(root, "")


def fill(value: Any, path: str, waiting: dict[str, np.ndarray[Any, Any]]) -> None:
    """Give restored values to the variables below a new attribute; what is not there yet goes on waiting."""
    for below, variable in list(named_variables(value)):
        key = f"{path}/{below}" if below else path
        if key in waiting:
            variable.assign(waiting.pop(key))
    if isinstance(value, Module):
        rest = {key.removeprefix(f"{path}/"): array for key, array in waiting.items() if key.startswith(f"{path}/")}
        wait_for(value, rest)


def wait_for(module: Module, values: dict[str, np.ndarray[Any, Any]]) -> None:
    """Let a module take these values as soon as variables of these names are set."""
    if values:
        module.__dict__["_waiting"] = values


def _children(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Variable):
        return
    if isinstance(value, Module):
        yield from ((name, child) for name, child in vars(value).items() if not name.startswith("_"))
    elif isinstance(value, Mapping):
        yield from ((str(key), child) for key, child in value.items())
    elif isinstance(value, (list, tuple)):
        yield from ((str(index), child) for index, child in enumerate(value))
