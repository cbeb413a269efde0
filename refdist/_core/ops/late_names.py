"""Names of the documented namespace, which are loaded when they are asked for."""

import importlib
import os
import re
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from typing import Any

_IMPORT = re.compile(r"^(?:from (\S+) )?import (?:\(([^)]*)\)|(.+))$", re.MULTILINE)
_HOME = os.path.abspath(f"{__file__}/../../../..")

Homes = dict[str, tuple[str, str]]


def late_names(
    module: str, spec: ModuleSpec, otherwise: Callable[[str], Any] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make what Python asks for names that a module does not have yet, and for the list of its names.

    The names are those that its stub imports, the file beside it that ends in `.pyi`, which type checkers read too. So there is
    one list, and loading a module loads nothing of what it names.

    >>> import refdist as tf
    >>> dir(tf.nest)
    ['assert_same_structure', 'flatten', 'is_nested', 'map_structure', 'pack_sequence_as']

    Args:
        module: the name of the module.
        spec: what it was loaded from.
        otherwise: asked for any other name; says what to use instead, unless told otherwise.
    """
    homes: Homes = {}

    def known() -> Homes:
        if not homes:
            loader: Any = spec.loader
            homes.update(homes_in(loader.get_data(f"{(spec.origin or '').rpartition('.')[0]}.pyi").decode()))
        return homes

    def load(name: str) -> Any:
        if name == "__all__":
            return names()
        if name.startswith("__") or name not in known():
            return missing(name)
        home, own = known()[name]
        if not home:
            made = _beside(own)
        elif home == module:  # it is a module itself, below this one
            made = importlib.import_module(f"{home}.{own}")
        else:
            made = getattr(importlib.import_module(home), own)
        setattr(importlib.import_module(module), name, made)
        return made

    def missing(name: str) -> Any:
        if otherwise is not None:
            return otherwise(name)
        if not module.startswith("refdist"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
        words: Any = importlib.import_module("refdist._core.ops.missing_names")
        return words.lacking(module.removeprefix("refdist").removeprefix("."))(name)

    def names() -> list[str]:
        return sorted(known())

    return load, names


def _beside(name: str) -> Any:
    """Load a package that stands beside refdist, unless a file of the user's has its name."""
    found = importlib.import_module(name)
    if os.path.dirname(os.path.dirname(found.__file__ or "")) != _HOME:
        shadows: Any = importlib.import_module("refdist_command.shadows")
        shadows.require_own(name)
    return found


def homes_in(stub: str) -> Homes:
    """Where the names of a stub come from: a module, and the name that they have there; without a module, they are modules.

    >>> homes_in("import math as math\\nfrom json import (\\n    dumps as dumps,\\n    loads as load,\\n)")
    {'math': ('', 'math'), 'dumps': ('json', 'dumps'), 'load': ('json', 'loads')}
    """
    found: Homes = {}
    for home, several, one in _IMPORT.findall(stub):
        for entry in (several or one).split(","):
            own, _, name = entry.strip().partition(" as ")
            if name:  # else the stub needs it for itself
                found[name] = (home, own)
    return found
