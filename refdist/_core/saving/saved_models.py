"""`tf.saved_model`: the variables of a module, saved and loaded without the module's own code."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from refdist._core.base.enums import VariableAggregation, VariableSynchronization
from refdist._core.saving.array_file import read_arrays, read_notes, write_arrays
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
    variables = dict(named_variables(obj))
    arrays = {path: variable.numpy() for path, variable in variables.items()}
    for path in arrays:
        _require_loadable(path, arrays, "The module")
    write_arrays(Path(export_dir) / _FILE, arrays, {path: _note(variable) for path, variable in variables.items()})


def load(export_dir: str) -> Module:
    """Make a module with the saved variables, which are distributed inside the scope of a strategy."""
    file = Path(export_dir) / _FILE
    arrays = read_arrays(file)
    for path in arrays:
        _require_loadable(path, arrays, f"The file {file}")
    root, notes = Module("loaded"), read_notes(file)
    for path, array in arrays.items():
        *parents, name = split(path)
        owner = root
        for parent in parents:
            owner = vars(owner).setdefault(parent, Module(parent))
        setattr(owner, name, _variable(array, name, notes.get(path)))
    return root


def _note(variable: Any) -> str:
    """What a loaded variable has to know beside its value."""
    kind = {"synchronization": variable.synchronization.name, "aggregation": variable.aggregation.name}
    return json.dumps({**kind, "trainable": variable.trainable})


def _variable(array: np.ndarray[Any, Any], name: str, note: str | None) -> Any:
    if note is None:  # older files have none
        return Variable(array, name=name)
    try:
        known = json.loads(note)
        trainable = bool(known["trainable"])
        synchronization = VariableSynchronization[known["synchronization"]]
        aggregation = VariableAggregation[known["aggregation"]]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"The file has {note[:200]!r} about the variable {name!r}; expected what saved_model.save() writes. Save it again."
        ) from error
    made = Variable(array, trainable, name=name, synchronization=synchronization, aggregation=aggregation)
    if synchronization is VariableSynchronization.ON_READ:
        made.assign(array)  # what was saved is what the copies make together
    return made


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
