"""Writes the program of a step without running it: once for its batches, and once for batches of twice the size."""

import dataclasses
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from refdist._core.base import nest
from refdist._core.base.call_sites import Place, call_site
from refdist._core.replicas import context
from refdist._core.replicas.specs import PerReplicaSpec, TensorSpec
from refdist._core.replicas.values import DistributedValues, PerReplica
from refdist._core.seam.compiler import Spec
from refdist._core.staging.argument_kinds import ArgumentKinds
from refdist._core.staging.function import Function
from refdist._core.staging.open_shapes import OpenShapes
from refdist._core.staging.parameters import taken_apart
from refdist._core.staging.program import Program
from refdist._core.staging.program_source import ProgramSource
from refdist._core.staging.replica_draft import ReplicaDraft
from refdist._core.staging.stand_ins import spec_of
from refdist._core.staging.trace_count import Sizes, Traces
from refdist._core.staging.writer import Call, ProgramWriter
from refdist._core.strategies.strategy import StrategyBase
from refdist._core.variables.variable import Variable


@dataclasses.dataclass(frozen=True)
class Traced:
    """A step as a program, and as another one for twice the rows, if it can be written for these."""

    program: Program | None
    doubled: Program | None
    sizes: tuple[int, ...]  # of the batches of one replica
    uneven: tuple[int, ...]  # how many rows each replica has, where that differs
    writes: dict[str, Place]  # where mirrored variables are written without being combined, by name


def traced(step: Callable[..., Any], strategy: StrategyBase | None, args: tuple[Any, ...], kwargs: Any) -> Traced:
    """Write the programs of a step. What its first call makes, such as variables of an optimizer, is made."""
    function = step if isinstance(step, Function) else Function(step, None, False)
    if not args and not kwargs and function.input_signature is not None:
        args = function.input_signature
    uneven: list[int] = []
    given = nest.map_structure(lambda leaf: _example(leaf, strategy, uneven), (tuple(args), dict(kwargs)))
    rows: set[int] = set()
    writes: dict[str, Place] = {}
    once = _written(function, strategy, given, 1, rows, writes)
    if once is None or not rows:
        return Traced(once, None, (), tuple(uneven), writes)
    try:
        twice = _written(function, strategy, given, 2, set(), {})
    except Exception:  # the step is for batches of this size only, which is no mistake
        twice = None
    return Traced(once, twice, tuple(sorted(rows)), tuple(uneven), writes)


def _written(
    function: Function,
    strategy: StrategyBase | None,
    given: Any,
    times: int,
    rows: set[int],
    writes: dict[str, Place],
) -> Program | None:
    flows: Any = importlib.import_module("refdist._core.compilers.reduction_flow")

    class Draft(ReplicaDraft):
        """Notes where variables are written, and marks what is read from a replica's own copy."""

        def read(self, variable: Variable) -> Any:
            value = super().read(variable)
            home = variable.container if variable.container is not None else variable
            marked = home.own_copies and self.count > 1
            return flows.read_in_replica(value, home.name) if marked else value

        def compare(self, variable: Variable, verb: str, tensor: Any) -> None:
            site = call_site(1)
            own = [place for place in site if "site-packages" not in place.file] or list(site)
            if own:
                writes.setdefault(variable.name, own[0])
            super().compare(variable, verb, tensor)

    class Shapes(OpenShapes):
        """Makes the batches of replicas so many times as large."""

        def spec(self, place: int, leaf: Any, declared: Sizes) -> Spec:
            shape, dtype = spec_of(leaf)
            if not isinstance(leaf, DistributedValues) or not shape or not shape[0]:
                return shape, dtype
            rows.add(shape[0])
            return (shape[0] * times, *shape[1:]), dtype

    class Writer(ProgramWriter):
        draft, open_shapes = Draft, Shapes

    class Source(ProgramSource):
        writer = Writer

    leaves, shape = taken_apart(*given)
    source = Source(function, Traces(relax=False), **function.tracing())
    call = Call(function.python_function, strategy, leaves, shape, ArgumentKinds(leaves))
    try:
        return source.written(call, strategy if strategy is not None else context.get_strategy())
    finally:
        call.elements.put_back()


def _example(leaf: Any, strategy: StrategyBase | None, uneven: list[int]) -> Any:
    """A value for each spec; values of different sizes become values of one size."""
    if isinstance(leaf, TensorSpec):
        tensor = _zeros([2 if size is None else size for size in leaf.sizes], leaf.dtype)
        return tensor if strategy is None else PerReplica([tensor] * len(strategy.extended.plan.devices))
    if isinstance(leaf, PerReplicaSpec):
        return PerReplica([_example(spec, None, uneven) for spec in leaf.specs])
    if isinstance(leaf, DistributedValues) and not isinstance(leaf, Variable) and leaf.spec is None:
        shapes = [getattr(value, "shape", None) for value in leaf.values]
        if all(shape is not None and len(shape) > 0 for shape in shapes):
            uneven[:] = [int(shape[0]) for shape in shapes if shape is not None]
            first: Any = max(leaf.values, key=lambda value: value.shape[0])
            return PerReplica([_zeros(list(first.shape), first.dtype)] * len(shapes))
    return leaf


def _zeros(shape: list[int], dtype: Any) -> Any:
    return context.backend().put(np.zeros(shape, dtype), None)
