"""What is public: the modules of the documented namespace, their names, and which of these nothing is said about."""

import dataclasses
import functools
import importlib
import inspect
import pkgutil
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import conformance
import refdist
import simulator

OURS = ("refdist", "simulator", "conformance")
_OTHER_NAMES = {"refdist.compat.v2": "tf", "refdist.keras": "Keras itself"}  # of modules, which are not shown twice


@dataclasses.dataclass(frozen=True)
class Member:
    """A method or property of a class, with the class that defines it."""

    name: str
    owner: type
    value: Any

    @property
    def is_property(self) -> bool:
        """Whether it is read without a call."""
        return isinstance(self.value, property | functools.cached_property)

    @property
    def docstring(self) -> str:
        """What is said about it, perhaps where it was first defined."""
        getter = self.value.fget if isinstance(self.value, property) else None
        if getter is not None and not inspect.isroutine(getter) and self.value.__doc__ == getter.__doc__:
            return ""  # that of operator.attrgetter, say
        return inspect.getdoc(getattr(self.owner, self.name)) or ""


def modules() -> Mapping[str, ModuleType]:
    """Return the public modules by their documented names, each before those below it.

    >>> list(modules())[:3]
    ['tf', 'tf.autograph', 'tf.autograph.experimental']
    """
    found = {"tf": refdist}
    for one in pkgutil.walk_packages(refdist.__path__, "refdist."):
        if "._" not in one.name and one.name not in _OTHER_NAMES:
            found[f"tf{one.name.removeprefix('refdist')}"] = importlib.import_module(one.name)
    ours = {"tf.conformance": conformance, "tf.simulator": simulator}
    ours |= {"tf.simulator.libraries": simulator.libraries, "tf.simulator.presets": simulator.presets}
    return dict(sorted((found | ours).items()))


def names(module: ModuleType) -> dict[str, Any]:
    """Return what a module offers, by name, without the modules below it.

    >>> list(names(refdist.cluster))
    ['run_workers', 'set_limits']
    """
    listed = dir(module) if module.__name__.startswith("refdist") else getattr(module, "__all__", None)
    if listed is None:
        listed = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    found = {name: getattr(module, name) for name in sorted(listed) if not name.startswith("_") and name not in _KERAS}
    return {name: value for name, value in found.items() if not isinstance(value, ModuleType)}


_KERAS = {"initializers", "keras", "losses", "metrics", "optimizers"}  # which are Keras, or come with it


def members(cls: type) -> list[Member]:
    """Return the public methods and properties of a class that its own code, and no library, defines."""
    found: dict[str, Member] = {}
    for owner in reversed([one for one in cls.__mro__ if is_ours(one)]):
        for name, value in vars(owner).items():
            if not name.startswith("_") and (callable(value) or _is_described(value)) and not inspect.isclass(value):
                found[name] = Member(name, owner, value)
    return [found[name] for name in sorted(found)]


def is_ours(value: Any) -> bool:
    """Whether this project defines a class or function, and no library."""
    return str(getattr(value, "__module__", "")).partition(".")[0] in OURS


def docstring(value: Any) -> str:
    """Return what is said about a class or function itself; what a dataclass says by itself is nothing."""
    if inspect.isclass(value):
        text = vars(value).get("__doc__") or ""
        made = dataclasses.is_dataclass(value) and text.startswith(f"{value.__name__}(")
        return "" if made else inspect.cleandoc(text)
    return inspect.getdoc(value) or "" if callable(value) else ""


def undocumented() -> Iterator[str]:
    """Yield the public classes, functions, methods and properties that have no docstring.

    >>> list(undocumented())
    []
    """
    for path, module in modules().items():
        if not (module.__doc__ or "").strip():
            yield path
        for name, value in names(module).items():
            if not callable(value) or is_message(value) or not is_ours(value):
                continue
            if not docstring(value):
                yield f"{path}.{name}"
            if inspect.isclass(value):
                yield from (f"{path}.{name}.{one.name}" for one in members(value) if not one.docstring)


def is_message(value: Any) -> bool:
    """Whether a class is a protocol buffer, whose fields say what there is to say."""
    return hasattr(value, "DESCRIPTOR")


def _is_described(value: Any) -> bool:
    return isinstance(value, property | functools.cached_property | classmethod | staticmethod)
