"""`tf.saved_model`: the variables and functions of a module, saved and loaded without the module's own code."""

import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from refdist._core.base.enums import VariableAggregation, VariableSynchronization
from refdist._core.saving.array_file import read_arrays, read_notes, write_arrays
from refdist._core.saving.module import Module, Trackable, joined, named_variables, servable, split
from refdist._core.saving.saved_functions import (
    FILE,
    LoadedFunction,
    LoadedModule,
    Signature,
    functions_of,
    programs_of,
    read_functions,
    write_functions,
)
from refdist._core.saving.saving_options import LoadOptions, SaveOptions, require_options
from refdist._core.staging.concrete_function import ConcreteFunction
from refdist._core.staging.exported_function import ExportedFunction, exported
from refdist._core.staging.function import Function
from refdist._core.variables.variable import Variable

_FILE = "variables.safetensors"
_SIGNATURE = "signature of "  # before the names of signatures in the file; no path begins like this
_CALL = "__call__"
DEFAULT_SERVING_SIGNATURE_DEF_KEY = "serving_default"


def save(obj: Trackable, export_dir: str, signatures: Any = None, options: SaveOptions | None = None) -> None:
    """Write the variables and the functions of a module to a folder; a distributed variable becomes one array.

    A `tf.function` is saved as a program for each kind of arguments: that of its input_signature, or those with which it was
    called before.

    Args:
        signatures: a function with an input_signature, what get_concrete_function() returns, or a dict of these; without any, the
            only function with an input_signature, if there is one.
    """
    require_options(options, SaveOptions, "saved_model.save()")
    obj = servable(obj) or obj
    if not isinstance(obj, Trackable):
        raise ValueError(
            f"saved_model.save() got a {type(obj).__name__}; expected a tf.Module. Derive the class from it, or set the "
            f"variables as attributes of one."
        )
    variables = {path: one for path, one in named_variables(obj) if isinstance(one, Variable)}
    functions = dict(functions_of(obj))
    arrays = {path: variable.numpy() for path, variable in variables.items()}
    for path in [*arrays, *(path for path in functions if path != _CALL)]:
        _require_loadable(path, {**arrays, **functions}, "The module")
    # Written before the first file is, because a function may turn out to be no program.
    programs = {path: programs_of(function) for path, function in functions.items()}
    programs |= {f"{_SIGNATURE}{name}": [one] for name, one in _signatures(signatures, functions.values()).items()}
    names = {id(shard.storage): path for path, variable in variables.items() for shard in variable.shards}
    folder = Path(export_dir)
    write_functions(folder / FILE, programs, names)
    write_arrays(folder / _FILE, arrays, {path: _note(variable) for path, variable in variables.items()})


def load(export_dir: str, tags: Any = None, options: LoadOptions | None = None) -> Module:
    """Make a module with the saved variables, which are distributed inside the scope of a strategy, and the saved functions."""
    require_options(options, LoadOptions, "saved_model.load()")
    file = Path(export_dir) / _FILE
    arrays = read_arrays(file)
    for path in arrays:
        _require_loadable(path, arrays, f"The file {file}")
    root, notes, variables = LoadedModule("loaded"), read_notes(file), dict[str, Any]()
    for path, array in arrays.items():
        variables[path] = _variable(array, split(path)[-1], notes.get(path))
        _set(root, path, variables[path])
    signatures: dict[str, Signature] = {}
    for path, function in read_functions(Path(export_dir) / FILE, variables).items():
        if path.startswith(_SIGNATURE):
            signatures[path.removeprefix(_SIGNATURE)] = Signature(function)
        elif path == _CALL:
            vars(root)[_CALL] = function
        else:
            _require_loadable(path, arrays, f"The folder {export_dir}")
            _set(root, path, function)
    if "signatures" not in vars(root):
        vars(root)["signatures"] = signatures
    return root


def contains_saved_model(export_dir: str) -> bool:
    """Say whether a folder has a saved model in it.

    >>> contains_saved_model("/nowhere")
    False
    """
    return (Path(export_dir) / _FILE).exists()


def _set(root: Module, path: str, value: Variable | LoadedFunction) -> None:
    *parents, name = split(path)
    owner = root
    for parent in parents:
        owner = vars(owner).setdefault(parent, Module(parent))
    setattr(owner, name, value)


def _signatures(given: Any, functions: Iterable[Function]) -> dict[str, ExportedFunction]:
    if given is None:
        alone = [one for one in functions if one.input_signature is not None]
        given = alone[0] if len(alone) == 1 else {}
    wanted: Mapping[str, Any] = given if isinstance(given, Mapping) else {DEFAULT_SERVING_SIGNATURE_DEF_KEY: given}
    return {name: _signature(name, function) for name, function in wanted.items()}


def _signature(name: str, function: Any) -> ExportedFunction:
    if isinstance(function, Function) and function.input_signature is not None:
        function = function.get_concrete_function()
    if not isinstance(function, ConcreteFunction):
        raise ValueError(
            f"saved_model.save() got {function!r} as the signature {name!r}; expected a tf.function with an input_signature, or "
            f"what get_concrete_function() returns. Pass one of these."
        )
    return exported(function.function, *function.structured_input_signature)


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
