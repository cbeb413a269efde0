"""Names of the documented namespace that are loaded when they are asked for."""

import importlib
from collections.abc import Callable
from typing import Any

from refdist._core.ops.missing_names import lacking


def late_names(
    module: str, namespace: dict[str, Any], homes: dict[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make what Python asks for names that a module does not have yet, and for the list of its names.

    Args:
        module: its documented name, such as "train".
        namespace: its globals, into which a name comes once it is loaded.
        homes: the module where some names come from, and these names, separated by spaces.
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}
    missing = lacking(module)

    def load(name: str) -> Any:
        home = home_of.get(name)
        if home is None:
            return missing(name)
        namespace[name] = made = getattr(importlib.import_module(home), name)
        return made

    def names() -> list[str]:
        return sorted({*namespace, *home_of})

    return load, names
