"""Where decorated functions are kept by the id of their behavior."""

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Generic, Protocol, TypeVar

from conformance import catalogue


class Registered(Protocol):
    """What a registry needs to know of its entries."""

    @property
    def id(self) -> str: ...
    @property
    def function(self) -> Callable[..., Any]: ...


Entry = TypeVar("Entry", bound=Registered)


class Registry(Generic[Entry]):
    """The entries that the modules of one package register when they are imported."""

    def __init__(self, noun: str, package: str) -> None:
        self._noun = noun
        self._package = package
        self._entries: dict[str, Entry] = {}

    def add(self, entry: Entry) -> None:
        """Keep an entry; its id must be in the catalogue, and new here."""
        if entry.id not in catalogue.load():
            raise ValueError(
                f"{_place(entry)} is the {self._noun} of {entry.id!r}; expected an id of the catalogue. "
                f"`python -m conformance list` shows them."
            )
        if entry.id in self._entries:
            raise ValueError(
                f"{_place(entry)} is a second {self._noun} of {entry.id}; expected one, and there is already "
                f"{_place(self._entries[entry.id])}. Remove one of them."
            )
        self._entries[entry.id] = entry

    def load(self) -> Mapping[str, Entry]:
        """Import every module of the package, and return all entries in catalogue order."""
        package = importlib.import_module(self._package)
        for module in pkgutil.iter_modules(package.__path__, f"{self._package}."):
            importlib.import_module(module.name)
        return MappingProxyType({id: self._entries[id] for id in catalogue.load() if id in self._entries})


def _place(entry: Registered) -> str:
    return f"{entry.function.__module__}.{entry.function.__qualname__}"
