"""Files of a user that hide packages of ours: their names, such as `simulator`, are common words."""

import importlib.util
import os
import sys
from importlib.machinery import PathFinder

OURS = ("refdist", "simulator", "conformance", "refdist_bench")
_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Shadowed(ImportError):
    """Python finds something else where a package of ours is needed."""


def require_own(*names: str, anew: bool = False) -> None:
    """Raise if Python finds another module than ours under one of these names.

    Args:
        anew: as a new process would find it, whatever is loaded in this one.
    """
    for name in names:
        found = _found(name, anew)
        if found is None or os.path.realpath(found) == os.path.realpath(os.path.join(_HOME, name)):
            continue
        kind = "file" if os.path.isfile(found) else "folder"
        raise Shadowed(
            f"`import {name}` finds {found}; expected the package of refdist, {os.path.join(_HOME, name)}, which the {kind} hides. "
            f"Rename the {kind}, or start in another folder.",
            name=name,
            path=found,
        )


def look_in(folder: str) -> None:
    """Let Python find modules in a folder before all others, as its children do, unless one of them hides ours."""
    if folder not in sys.path:
        sys.path.insert(0, folder)
    require_own(*OURS)
    require_own(*OURS, anew=True)


def _found(name: str, anew: bool) -> str | None:
    """Where Python finds a module: its file, or the folder of a package; None if nowhere."""
    loaded = None if anew else sys.modules.get(name)
    find = PathFinder.find_spec if anew else importlib.util.find_spec
    spec = find(name) if loaded is None else loaded.__spec__
    if spec is None or spec.origin is None:
        return getattr(loaded, "__file__", None)
    folder, file = os.path.split(spec.origin)
    return folder if file == "__init__.py" else spec.origin
