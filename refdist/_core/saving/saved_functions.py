"""The functions of a module as programs in a file, and how these are called once they are loaded."""

import functools
import importlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from refdist._core.base import nest
from refdist._core.base.entropy import ProgramEntropy
from refdist._core.base.jax_facts import is_jax, is_tracer
from refdist._core.base.where import HERE
from refdist._core.replicas import context
from refdist._core.replicas.specs import TensorSpec
from refdist._core.saving.array_file import read_arrays, read_notes, write_arrays
from refdist._core.saving.module import Module, joined, modules_below
from refdist._core.seam.draft import NeedsPython
from refdist._core.staging.exported_function import ExportedFunction, exported
from refdist._core.staging.function import Function
from refdist._core.staging.input_signature import fitting_leaf
from refdist._core.staging.program import Output

FILE = "functions.safetensors"
_KINDS: dict[str, Callable[[list[Any]], Any]] = {"list": list, "tuple": tuple}


def functions_of(root: Any) -> Iterator[tuple[str, Function]]:
    """The functions that are attributes or methods of a module and of those below it, by their paths."""
    for place, module in modules_below(root):
        found = {name: value for name, value in vars(module).items() if not name.startswith("_function_")}
        methods = {
            name for kind in type(module).__mro__ for name, value in vars(kind).items() if type(value) is Function
        }
        found |= {name: getattr(module, name) for name in methods}
        yield from ((joined((*place, name)), one) for name, one in sorted(found.items()) if isinstance(one, Function))


def write_functions(
    path: Path, functions: Mapping[str, list[ExportedFunction] | str], names: Mapping[int, str]
) -> None:
    """Write the programs of functions.

    Args:
        functions: by the names under which they are found again; of some, only why there is no program.
        names: the paths of variables, by the ids of their storages.
    """
    arrays, notes = dict[str, Any](), dict[str, str]()
    for name, versions in functions.items():
        if isinstance(versions, str):
            arrays[f"{name} 0"], notes[f"{name} 0"] = np.zeros(0, np.uint8), json.dumps({"reason": versions})
            continue
        for number, one in enumerate(versions):
            key = f"{name} {number}"
            arrays[key] = np.frombuffer(one.data, np.uint8)
            notes[key] = json.dumps(_note(one, names))
    write_arrays(path, arrays, notes)


def read_functions(path: Path, variables: Mapping[str, Any]) -> dict[str, "LoadedFunction"]:
    """Make the functions in a file, which use variables that were loaded before."""
    if not path.exists():
        return {}
    arrays, notes = read_arrays(path), read_notes(path)
    found, reasons = dict[str, list[_Version]](), dict[str, str]()
    for key in sorted(arrays, key=lambda key: (key.rpartition(" ")[0], int(key.rpartition(" ")[2]))):
        name = key.rpartition(" ")[0]
        try:
            note = json.loads(notes[key])
            if "reason" in note:
                found[name], reasons[name] = [], str(note["reason"])
                continue
            version = _Version(arrays[key].tobytes(), note, variables)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"The file {path} says of the function {name!r} what cannot be read ({error!r}); expected what saved_model.save() "
                f"writes. Save it again."
            ) from error
        found.setdefault(name, []).append(version)
    return {
        name: LoadedFunction(name.rpartition("/")[2], versions, reasons.get(name, ""))
        for name, versions in found.items()
    }


class LoadedFunction:
    """A function that was saved: one program for each kind of arguments."""

    def __init__(self, name: str, versions: "list[_Version]", reason: str) -> None:
        self.__name__, self._versions, self._reason = name, versions, reason

    @property
    def structured_input_signature(self) -> Any:
        """The arguments of the first program, with a spec in the place of each tensor."""
        return self._versions[0].arguments

    @property
    def structured_outputs(self) -> Any:
        """The result of the first program, with a spec in the place of each tensor."""
        return self._versions[0].outline

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self._versions:
            raise ValueError(
                f"{self.__name__}() was loaded without a program ({self._reason}); expected one. Give it an input_signature, or "
                f"call it, before the model is saved."
            )
        failures: list[Exception] = []
        for version in self._versions:
            try:
                leaves = version.fitting(self.__name__, args, kwargs)
            except (TypeError, ValueError) as error:
                failures.append(error)
                continue
            return version.run(leaves)
        if len(failures) == 1:
            raise failures[0]
        raise ValueError(
            f"{self.__name__}() got arguments of none of the kinds for which it was saved; expected one of "
            f"{', '.join(str(version.arguments) for version in self._versions)}. Save it for these too: call it with them before."
        )

    def __repr__(self) -> str:
        return f"<loaded function {self.__name__} for {', '.join(str(one.arguments) for one in self._versions)}>"


class _Version:
    """One program of a function."""

    def __init__(self, data: bytes, note: dict[str, Any], variables: Mapping[str, Any]) -> None:
        self._data, self._note, self._entropy = data, note, ProgramEntropy()
        self.arguments = _decoded(note["arguments"])
        self._names: list[str] = note["names"]
        self._reads = [variables[path] for path in note["reads"]]
        self._writes = [variables[path] for path in note["writes"]]
        self._result = _decoded(note["result"])

    @functools.cached_property
    def _program(self) -> Callable[..., Sequence[Any]]:
        exporting: Any = importlib.import_module("refdist._core.compilers.exporting")
        return exporting.imported(self._data, wide=self._note["wide"])

    @property
    def outline(self) -> Any:
        return nest.map_structure(
            lambda leaf: TensorSpec(*leaf.spec) if isinstance(leaf, Output) else leaf, self._result
        )

    def fitting(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The leaves of arguments that fit, as tensors where the program takes them; raises for all others."""
        by_place, by_name = self.arguments
        placed, named = list(args), dict(kwargs)
        for place in range(len(args), len(by_place)):
            key = self._names[place] if place < len(self._names) else ""
            if key not in named and any(isinstance(leaf, TensorSpec) for leaf in nest.flatten(by_place[place])):
                break
            placed.append(named.pop(key, by_place[place]))
        given = (tuple(placed), {**{k: v for k, v in by_name.items() if not isinstance(v, TensorSpec)}, **named})
        specs, leaves = nest.flatten(self.arguments), nest.flatten(given)
        if nest.shape_of(given) != nest.shape_of(self.arguments):
            raise TypeError(
                f"{name}() got {len(args)} arguments by place and {sorted(kwargs)} by name; expected {self.arguments}, as it was "
                f"saved. Pass these."
            )
        pairs = enumerate(zip(specs, leaves, strict=True))
        return [self._fitting(name, place, spec, leaf) for place, (spec, leaf) in pairs]

    def _fitting(self, name: str, place: int, spec: Any, leaf: Any) -> Any:
        if isinstance(spec, TensorSpec):
            traced = is_tracer(leaf) and spec.is_compatible_with(leaf)
            return leaf if traced else fitting_leaf(name, place, spec, leaf)
        if type(spec) is not type(leaf) or spec != leaf:
            raise ValueError(
                f"{name}() got {leaf!r} as argument {place}; expected {spec!r}, with which it was saved. Leave it out."
            )
        return leaf

    def run(self, leaves: Sequence[Any]) -> Any:
        """Run the program, and carry out what it writes."""
        draft = HERE.get().draft
        if draft is not None and (draft.compiler.count > 1 or self._note["draws"]):
            raise NeedsPython  # it cannot be a part of one for several replicas, and its numbers would be the same in each run
        values = [leaves[place] for place in self._note["takes"]] + [variable.read_value() for variable in self._reads]
        values += [self._entropy()] if self._note["draws"] else []
        outputs = self._program(*map(_plain, values))
        first = self._note["first_written"]
        self._require(outputs[first + len(self._writes) :])
        for variable, value in zip(self._writes, outputs[first:], strict=False):
            variable.assign(_tensor(value))
        return nest.map_structure(
            lambda leaf: _tensor(outputs[leaf.place]) if isinstance(leaf, Output) else leaf, self._result
        )

    def _require(self, flags: Sequence[Any]) -> None:
        draft = HERE.get().draft
        for flag, text in zip(flags, self._note["required"], strict=False):
            if draft is not None:
                draft.require(flag.all(), ValueError, text)
            elif not np.all(np.asarray(flag)):
                raise ValueError(f"{text} Nothing was written.")


class Signature:
    """A function of a saved model that takes tensors by name, and returns a dict of them."""

    def __init__(self, function: LoadedFunction) -> None:
        self._function = function
        by_place, by_name = function.structured_input_signature
        self._specs = {**{spec.name: spec for spec in by_place}, **by_name}
        self.structured_input_signature = ((), self._specs)
        self.structured_outputs = named_outputs(function.structured_outputs)

    def __call__(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        if args and len(self._specs) > 1:
            raise TypeError(
                f"A signature got {len(args)} arguments by place; expected the names {sorted(self._specs)}. Pass each by its name."
            )
        given = {**dict(zip(self._specs, args, strict=False)), **kwargs}
        if given.keys() != self._specs.keys() or len(args) > len(self._specs):
            raise TypeError(f"A signature got {sorted(given)}; expected {sorted(self._specs)}. Pass a tensor for each.")
        by_place, by_name = self._function.structured_input_signature
        placed = [given[spec.name] for spec in by_place]
        return named_outputs(self._function(*placed, **{name: given[name] for name in by_name}))


def named_outputs(result: Any) -> dict[str, Any]:
    """What a signature returns: a dict as it is, and tensors under numbered names."""
    if isinstance(result, dict):
        return result
    parts: list[Any] = list(result) if isinstance(result, (list, tuple)) else [result]
    return {f"output_{number}": part for number, part in enumerate(parts)}


class LoadedModule(Module):
    """The root of a loaded model, which can be called if the saved one had a function for that."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        call = vars(self).get("__call__")
        if call is None:
            raise TypeError(
                "A loaded model was called; expected one whose class has a tf.function named __call__ that was saved with it. Call "
                "one of its functions, or of its signatures."
            )
        return call(*args, **kwargs)


def programs_of(function: Function) -> list[ExportedFunction] | str:
    """A function for each kind of arguments that it has, or was called with; else why there is no program of it."""
    if function.input_signature is not None:
        return [exported(function, *kind) for kind in function.kinds_of_calls()]
    reason, found = "it has no input_signature and was not called before it was saved", list[ExportedFunction]()
    for kind in function.kinds_of_calls():
        try:
            found.append(exported(function, *kind))
        except Exception as error:  # it may be part of the training, and of no use without it
            reason = str(error)
    return found or reason


def _note(one: ExportedFunction, names: Mapping[int, str]) -> dict[str, Any]:
    paths: dict[str, list[str]] = {}
    for key, storages in (("reads", one.reads), ("writes", one.writes)):
        if any(id(storage) not in names for storage in storages):
            raise ValueError(
                f"The function {one.name} uses a variable that is no attribute of the saved module; expected all of them to be, "
                f"because they are saved with it. Set the variable as an attribute of the module, or of one inside of it."
            )
        paths[key] = [names[id(storage)] for storage in storages]
    kept = {"names": list(one.names), "takes": list(one.takes), "draws": one.draws, "first_written": one.first_written}
    shapes = {"arguments": _encoded(one.arguments, one.name), "result": _encoded(one.result, one.name)}
    return {**kept, **shapes, **paths, "required": list(one.required), "wide": one.wide}


def _encoded(value: Any, name: str) -> Any:
    """A nest as data that fit into JSON."""
    if isinstance(value, TensorSpec):
        return {"spec": [list(value.sizes), value.dtype.name, value.name]}
    if isinstance(value, Output):
        sizes = [size if isinstance(size, int) else None for size in value.spec[0]]
        return {"output": [value.place, sizes, np.dtype(value.spec[1]).name]}
    container: Any = value
    if isinstance(value, dict) and all(isinstance(key, str) for key in container):
        return {"dict": {key: _encoded(part, name) for key, part in container.items()}}
    if isinstance(value, (list, tuple)):
        return {"tuple" if isinstance(value, tuple) else "list": [_encoded(part, name) for part in container]}
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"value": value}
    raise ValueError(
        f"The function {name} takes or returns {value!r}, a {type(value).__name__}; expected tensors, numbers, texts, and lists, "
        f"tuples and dicts of these in what is to be saved. Return one of these."
    )


def _decoded(data: Any) -> Any:
    ((kind, content),) = data.items()
    if kind == "spec":
        return TensorSpec(*content)
    if kind == "output":
        place, sizes, dtype = content
        return Output(place, False, (tuple(sizes), dtype))
    if kind == "dict":
        return {key: _decoded(part) for key, part in content.items()}
    return content if kind == "value" else _KINDS[kind](list(map(_decoded, content)))


def _plain(value: Any) -> Any:
    """A tensor of any backend as JAX takes it."""
    return value if is_jax(value) else np.asarray(value)


def _tensor(value: Any) -> Any:
    backend = context.backend()
    known = is_tracer(value) or isinstance(value, backend.tensor_type)
    return value if known else backend.put(np.asarray(value), HERE.get().device)
