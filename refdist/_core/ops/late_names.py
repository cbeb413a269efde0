"""Names of the documented namespace that are loaded when they are asked for."""

import importlib
from collections.abc import Callable
from typing import Any

from refdist._core.ops.missing_names import lacking


def late_names(
    module: str,
    namespace: dict[str, Any],
    homes: dict[str, str],
    modules: str = "",
    otherwise: Callable[[str], Any] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make what Python asks for names that a module does not have yet, and for the list of its names.

    Args:
        module: its documented name, such as "train".
        namespace: its globals, into which a name comes once it is loaded.
        homes: the module where some names come from, and these names, separated by spaces; `slice:slice_` has another name there.
        modules: the names of modules below this one.
        otherwise: asked for any other name; says what to use instead, unless told otherwise.
    """
    entries = [(home, *entry.partition(":")[::2]) for home, names in homes.items() for entry in names.split()]
    home_of = {name: (home, own or name) for home, name, own in entries}
    below, missing = modules.split(), lacking(module) if otherwise is None else otherwise

    def load(name: str) -> Any:
        if name in below:
            return importlib.import_module(f"{namespace['__name__']}.{name}")
        home = home_of.get(name)
        if home is None:
            return missing(name)
        namespace[name] = made = getattr(importlib.import_module(home[0]), home[1])
        return made

    def names() -> list[str]:
        return sorted({*namespace, *home_of, *below})

    return load, names
