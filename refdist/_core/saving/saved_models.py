"""`tf.saved_model`: the variables of a module, saved and loaded without the module's own code."""

from collections.abc import Collection
from pathlib import Path

from refdist._core.saving.array_file import read_arrays, write_arrays
from refdist._core.saving.module import Module, Trackable, joined, named_variables, split
from refdist._core.variables.variable import Variable

_FILE = "variables.safetensors"


def save(obj: Trackable, export_dir: str) -> None:
    """Write the variables of a module to a folder; a distributed variable becomes one array."""
    if not isinstance(obj, Trackable):
        raise ValueError(
            f"saved_model.save() got a {type(obj).__name__}; expected a tf.Module. Derive the class from it, or set the "
            f"variables as attributes of one."
        )
    arrays = {path: variable.numpy() for path, variable in named_variables(obj)}
    for path in arrays:
        _require_loadable(path, arrays, "The module")
    write_arrays(Path(export_dir) / _FILE, arrays)


def load(export_dir: str) -> Module:
    """Make a module with the saved variables, which are distributed inside the scope of a strategy."""
    file = Path(export_dir) / _FILE
    arrays = read_arrays(file)
    for path in arrays:
        _require_loadable(path, arrays, f"The file {file}")
    root = Module("loaded")
    for path, array in arrays.items():
        *parents, name = split(path)
        owner = root
        for parent in parents:
            owner = vars(owner).setdefault(parent, Module(parent))
        setattr(owner, name, Variable(array, name=name))
    return root


def _require_loadable(path: str, paths: Collection[str], what: str) -> None:
    """Raise unless a path leads to an attribute that a loaded module can have."""
    names = split(path)
    for count, name in enumerate(names, 1):
        if not name or (name.startswith("__") and name.endswith("__")) or hasattr(Module, name):
            raise ValueError(
                f"{what} has a variable under {path!r}; expected names that a module has free for its variables, which "
                f"{name!r} is not. Rename it."
            )
        if count < len(names) and joined(names[:count]) in paths:
            raise ValueError(
                f"{what} has variables under {joined(names[:count])!r} and under {path!r}; expected the first to be a variable or "
                f"to have some, not both. Rename one."
            )
