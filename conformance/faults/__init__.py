"""The planted faults: one way per behavior to break refdist so that exactly this promise fails."""

import importlib
import inspect
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import Any, Self, cast

from conformance.registry import Registry


class Plant:
    """Replaces attributes of modules, classes and objects, and puts everything back at the end.

    >>> import string
    >>> with Plant() as plant:
    ...     plant.replace(string, "digits", "none")
    ...     plant.wrap(string, "capwords", lambda original: lambda text: original(text) + "!")
    ...     string.digits, string.capwords("good day")
    ('none', 'Good Day!')
    >>> string.digits, string.capwords("good day")
    ('0123456789', 'Good Day')
    """

    def __init__(self) -> None:
        self._undo = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._undo.close()

    def replace(self, owner: Any, name: str, value: Any) -> None:
        """Put exactly this value in the place of an attribute, own or inherited."""
        _require(owner, name)
        own = cast("Mapping[str, Any]", getattr(owner, "__dict__", {}))
        if name in own:
            self._undo.callback(setattr, owner, name, own[name])
        elif inspect.isdatadescriptor(inspect.getattr_static(cast("Any", type(owner)), name, None)):
            # A slot or a property of an object: setting it back is the only way to undo it.
            self._undo.callback(setattr, owner, name, getattr(owner, name))
        else:
            self._undo.callback(delattr, owner, name)
        setattr(owner, name, value)

    def wrap(self, owner: Any, name: str, wrapper: Callable[[Callable[..., Any]], Any]) -> None:
        """Replace a function by what the wrapper makes of it.

        For a static method, a class method or a property of a class, the wrapper gets the function inside
        (of a property: the getter), and what it returns is again made a static method, class method or property.
        """
        _require(owner, name)
        if not inspect.isclass(owner):
            self.replace(owner, name, wrapper(getattr(owner, name)))
            return
        original: Any = inspect.getattr_static(owner, name)
        if isinstance(original, staticmethod):
            self.replace(owner, name, staticmethod(wrapper(cast("Any", original).__func__)))
        elif isinstance(original, classmethod):
            self.replace(owner, name, classmethod(wrapper(cast("Any", original).__func__)))
        elif isinstance(original, property):
            assert original.fget is not None, "a property without a getter cannot be read, so it cannot be documented"
            self.replace(owner, name, original.getter(wrapper(original.fget)))
        elif isinstance(original, cached_property):
            renewed = cached_property(wrapper(cast("Any", original).func))
            renewed.__set_name__(owner, name)
            self.replace(owner, name, renewed)
        else:
            self.replace(owner, name, wrapper(original))


_OF_OTHERS = {"conformance", "simulator", "keras", "initializers", "losses", "metrics", "optimizers"}
FaultFunction = Callable[[Plant], None]


@dataclass(frozen=True, slots=True)
class Fault:
    """How to break refdist so that the check of one behavior fails."""

    id: str
    function: FaultFunction


_registry: Registry[Fault] = Registry("fault", __name__)


def fault(id: str) -> Callable[[FaultFunction], FaultFunction]:
    """Register a function as the planted fault of a behavior."""

    def register(function: FaultFunction) -> FaultFunction:
        _registry.add(Fault(id, function))
        return function

    return register


def faults() -> Mapping[str, Fault]:
    """Import every module of this package, and return all faults by id."""
    _look_up_names(importlib.import_module("refdist"), set())
    return _registry.load()


def _look_up_names(module: Any, known: set[str]) -> None:
    """Look up what refdist has: a name that is first asked for while a fault is planted would stay broken after it."""
    known.add(module.__name__)
    for name in set(module.__all__) - _OF_OTHERS:
        found = getattr(module, name)
        if (
            getattr(found, "__name__", "").startswith("refdist.")
            and hasattr(found, "__all__")
            and found.__name__ not in known
        ):
            _look_up_names(found, known)


def _require(owner: Any, name: str) -> None:
    """Refuse an attribute that does not exist: the fault would break nothing."""
    missing = object()
    if inspect.getattr_static(owner, name, missing) is missing and not hasattr(owner, name):
        label = getattr(owner, "__name__", repr(owner))
        raise AttributeError(
            f"a fault was to be planted in {label}.{name}, which does not exist; expected an attribute to replace. "
            f"If it was renamed, rename it in the fault too."
        )
