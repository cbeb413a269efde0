"""A function for one kind of arguments as a program that can be saved: what it takes, reads, writes and returns."""

import dataclasses
import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from refdist._core.base import nest
from refdist._core.base.entropy import ENTROPY
from refdist._core.base.enums import VariableAggregation
from refdist._core.base.indexed_slices import ARGUMENTS
from refdist._core.replicas.specs import PerReplicaSpec, TensorSpec
from refdist._core.replicas.values import DistributedValues, Storage
from refdist._core.staging.argument_kinds import ArgumentKinds
from refdist._core.staging.program import Program
from refdist._core.staging.writer import Call
from refdist._core.variables.variable import LIVE, Variable

if TYPE_CHECKING:
    from refdist._core.staging.function import Function


@dataclasses.dataclass(frozen=True)
class ExportedFunction:
    """A program, and what belongs to its inputs and outputs, in their order."""

    name: str
    data: bytes
    names: tuple[str, ...]  # of the parameters
    arguments: Any  # (args, kwargs), with a TensorSpec for each tensor
    takes: tuple[int, ...]  # the places of the tensors among the leaves of the arguments
    reads: tuple[Storage, ...]
    draws: bool
    result: Any  # with an Output for each tensor
    first_written: int
    writes: tuple[Storage, ...]
    required: tuple[str, ...]  # what is to be said where an output that follows is not true
    wide: bool


_DIFFERENT = "Replicas have made different values where there is one for all; expected equal ones. Combine them with all_reduce()."


class _Unknown:
    """Stands for a tensor whose sizes need not be known."""

    def __init__(self, shape: tuple[Any, ...], dtype: np.dtype[Any]) -> None:
        self.shape, self.dtype = shape, dtype

    def __array__(self) -> Any:
        raise NotImplementedError


def with_specs(arguments: Any) -> Any:
    """Arguments with a spec in the place of each tensor that a saved program could take."""

    def spec(leaf: Any) -> Any:
        if isinstance(leaf, (DistributedValues, Variable)) or not hasattr(leaf, "shape"):
            return leaf
        number = isinstance(getattr(leaf, "dtype", None), np.dtype) and leaf.dtype.kind not in "OSU"
        return TensorSpec(tuple(leaf.shape), leaf.dtype) if number else leaf

    return nest.map_structure(spec, arguments)


def exported(function: "Function", args: tuple[Any, ...], kwargs: dict[str, Any]) -> ExportedFunction:
    """Write the program of a function for arguments that have specs in the places of tensors, and export it."""
    exporting: Any = importlib.import_module("refdist._core.compilers.exporting")
    arguments, name = (tuple(args), dict(kwargs)), getattr(function, "__name__", "function")
    leaves, shape = nest.taken_apart(arguments, namespace=ARGUMENTS)
    if any(isinstance(leaf, PerReplicaSpec) for leaf in leaves):
        raise ValueError(
            f"{name}() was to be saved for a per-replica value; expected tensors. Save the function that runs in each replica."
        )
    places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, TensorSpec)]
    unknown = any(None in leaves[place].sizes for place in places)
    failure: BaseException | None = None
    for shared in (False, True) if unknown else (False,):
        shapes = exporting.shapes_of([leaves[place].sizes for place in places], shared=shared)
        given = list(leaves)
        for place, sizes in zip(places, shapes, strict=True):
            given[place] = _Unknown(sizes, leaves[place].dtype)
        try:
            program = function.written_for(Call(function.python_function, None, given, shape, ArgumentKinds(given)))
            data = _data(exporting, name, program, given)
        except Exception as error:
            if not unknown or not exporting.is_about_sizes(error):
                raise
            failure = error
            continue
        return _described(name, function, program, data, arguments)
    raise ValueError(
        f"{name}() was to be saved for {[leaves[place] for place in places]}, which failed ({failure}); expected a body that "
        f"does not have to know the sizes that are None. Give these sizes in input_signature, or save it for each of them."
    ) from failure


def _data(exporting: Any, name: str, program: Any, given: Sequence[Any]) -> bytes:
    if not isinstance(program, Program):
        raise ValueError(
            f"{name}() was to be saved, but it does what only Python can; expected a function that becomes one program. Take loops "
            f"over data out of it."
        )
    interface, count = program.interface, program.compiler.count
    made = interface.first_written + len(interface.writes)  # what is required comes after these
    if count > 1 and any(program.written.own_outputs[:made]):
        raise _several(name)
    specs = [(given[place].shape, given[place].dtype) for place, _ in interface.takes]
    specs += [(tensor.shape, tensor.dtype) for tensor in (storage.copies()[0] for storage in interface.reads)]
    sums = {id(one.storage) for one in list(LIVE.values()) if one.aggregation is VariableAggregation.SUM}
    first = [storage.own_copies and id(storage) in sums for storage in interface.reads]
    first = [False] * len(interface.takes) + first + [False] * interface.draws
    flags = len(program.written.own_outputs) - made + bool(program.written.compared)
    one = _with_truth_at_the_end(program.compiler.for_one_replica(program.written), bool(program.written.compared))
    alone = exporting.of_all_replicas(one, count, first, [*[None] * made, *[0] * flags])
    try:
        return exporting.exported(alone, [*specs, ENTROPY] if interface.draws else specs, wide=interface.wide)
    except ValueError as error:
        if "out_axes" in str(error):  # what JAX says where replicas have made different values
            raise _several(name) from error
        raise


def _with_truth_at_the_end(one: Callable[..., list[Any]], compared: bool) -> Callable[..., list[Any]]:
    """A program whose last output, where it says which replica differs, says whether none does."""
    if not compared:
        return one

    def run(*values: Any) -> list[Any]:
        *outputs, differing = one(*values)
        return [*outputs, differing == 0]

    return run


def _several(name: str) -> ValueError:
    return ValueError(
        f"{name}() was to be saved, but it writes or returns what each replica has its own of; expected one that computes the same "
        f"for all. Save the function that strategy.run() runs, or reduce what it returns."
    )


def _described(name: str, function: "Function", program: Any, data: bytes, arguments: Any) -> ExportedFunction:
    interface = program.interface
    return ExportedFunction(
        name,
        data,
        tuple(function.parameter_names),
        arguments,
        takes=tuple(place for place, _ in interface.takes),
        reads=interface.reads,
        draws=interface.draws,
        result=interface.result,
        first_written=interface.first_written,
        writes=interface.writes,
        required=(*(one.text for one in interface.required), *[_DIFFERENT] * bool(interface.compared)),
        wide=interface.wide,
    )
