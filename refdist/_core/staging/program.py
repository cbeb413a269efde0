"""One compiled program of a function: what it takes, what it changes, and what it returns."""

import copy
import dataclasses
import functools
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np

from refdist._core.base import nest
from refdist._core.base.call_sites import Site, where
from refdist._core.base.entropy import ProgramEntropy
from refdist._core.base.where import HERE
from refdist._core.replicas.specs import PerReplicaSpec, TensorSpec
from refdist._core.replicas.values import WRITING, Adopted, PerReplica, Storage
from refdist._core.seam.backend import NOWHERE
from refdist._core.seam.compiler import Charge, Compiled, Compiler, Keep, Spec, WrittenProgram
from refdist._core.staging.replica_draft import Requirement
from refdist._core.staging.stand_ins import PassedThrough, closed_slices, has_slices


@dataclasses.dataclass(frozen=True, slots=True)
class Output:
    """Stands, in the result of a function, for a tensor that the program makes."""

    place: int  # among the outputs of the program
    own: bool  # whether each replica has its own
    spec: Spec
    alone: bool = False  # whether it is the one component of a per-replica value of one replica
    declared: tuple[int | None, ...] | None = (
        None  # its shape in all programs that were written together, if there are several
    )


class Compared(NamedTuple):
    """What must be equal on all replicas, and where the code demands it."""

    what: str
    site: Site = ()


@dataclasses.dataclass(frozen=True, eq=False)
class Interface:
    """What a program takes and makes, in the order of its inputs and outputs."""

    takes: tuple[tuple[int, bool], ...]  # the places of arguments, and whether each replica has its own
    reads: tuple[Storage, ...]  # the values of variables, last of those that it writes, too
    draws: bool  # whether it takes random numbers, after all other inputs
    shares: tuple[int, ...]  # how many operations draw in each passage of the code of replicas
    result: Any  # the result of the function, with an Output in the place of each tensor
    first_written: int  # the place of the first output that is not part of the result
    writes: tuple[Storage, ...]  # the values of variables, for which outputs follow from there on
    required: tuple[Requirement, ...]  # what must hold; outputs that say whether it does come after these
    compared: tuple[Compared, ...]  # what must be equal on all replicas; the last output says whether it is
    wide: bool  # whether it was written with room for 64 bits


class Program:
    """Runs a compiled program on the arguments of a call and on the variables that it uses."""

    used = False  # whether it was asked for again since the last look

    def __init__(self, compiler: Compiler, written: WrittenProgram, interface: Interface) -> None:
        self._compiler, self._compiled = compiler, compiler.compile(written)
        self.compiler, self.written, self.interface = compiler, written, interface
        self._charge = compiler.charge(written)
        self._takes, self._reads, self._draws = interface.takes, interface.reads, interface.draws
        self._entropy = ProgramEntropy(interface.shares)
        self._writes, self._required, self._compared = interface.writes, interface.required, interface.compared
        self._only_read, self._read_again = _read_again(interface)
        self._last: Callable[[], Adopted | None] = _nothing  # what it has written
        self._first_required = interface.first_written + len(interface.writes)
        self._written = slice(interface.first_written, self._first_required)
        self._leaves, self._shape = nest.taken_apart(interface.result)
        self._bare = self._shape.is_leaf()
        self._has_slices = has_slices(interface.result)
        self._wide = compiler.exact and interface.wide
        self._compute = functools.partial(_widely, compiler, self._compiled) if self._wide else self._compiled
        self._wait = compiler.wait if compiler.waits else None
        self._tracer = compiler.tracer_type
        self._checks = bool(interface.required or interface.compared or not written.own_outputs)
        # Nobody else writes between reading the values and writing them.
        self._guard: AbstractContextManager[Any] = WRITING if interface.writes else NOWHERE
        self.enters_nothing = self._charge is None
        self.sizes_open = any(type(leaf) is Output and leaf.declared is not None for leaf in self._leaves)

    def run(self, leaves: Sequence[Any], *, charged: bool = False, keep: Keep | None = None) -> Any:
        """Run it on the arguments of a call."""
        if self._charge is not None and not charged:
            return self._charged(self._charge, leaves)
        with self._guard:
            last = self._last()
            outputs = self._compute(*self._values(leaves, last.arrays if last is not None and last.whole else None))
            if self._checks or isinstance(outputs[0], self._tracer):
                self._require(outputs)
            try:
                if keep is not None:
                    self._keep(outputs, keep)
                # The result is put together while the devices still compute.
                whole = self._result(self._leaves[0], outputs, leaves) if self._bare else self._nest(outputs, leaves)
            finally:
                if self._wait is not None:
                    self._wait(outputs)
            if self._writes:
                written: Any = outputs[self._written]
                if last is not None and last.whole:
                    last.arrays = written
                else:
                    self._last = weakref.ref(Storage.adopt(self._compiler, self._writes, written))
                if (journal := HERE.get().journal) is not None:
                    journal.adopted(self._writes)
        return whole

    def _charged(self, charge: Charge, leaves: Sequence[Any]) -> Any:
        with charge(lambda: self._brought(leaves)) as keep:
            return self.run(leaves, charged=True, keep=keep)

    def _nest(self, outputs: Sequence[Any], leaves: Sequence[Any]) -> Any:
        results = [self._result(leaf, outputs, leaves) for leaf in self._leaves]
        result = nest.put_together(self._shape, results)
        return closed_slices(result) if self._has_slices else result

    def _brought(self, leaves: Sequence[Any]) -> Iterator[Any]:
        """The tensors that a call takes, without those that the last program has left in compiled form."""
        for place, each in self._takes:
            yield from leaves[place].parts if each else [leaves[place]]
        for storage in self._reads:
            yield from storage.held[0] or []

    def _keep(self, outputs: Sequence[Any], keep: Keep) -> None:
        """Say how many bytes of what the program has made stay on each device; what is lowered immediately reports that itself."""
        count = self._compiler.count
        for leaf in self._leaves:
            if type(leaf) is Output and leaf.own:
                keep(outputs[leaf.place], outputs[leaf.place].nbytes // count, self._compiler.devices)
        for storage, array in zip(self._writes, outputs[self._written], strict=True):
            own = storage.own_copies and count > 1
            keep(array, array.nbytes // (count if own else 1), storage.homes)

    def _require(self, outputs: Sequence[Any]) -> None:
        """Raise where something does not hold that must."""
        if self._reads and outputs and isinstance(outputs[0], self._compiler.tracer_type):
            raise RuntimeError(
                "A function that uses variables was called inside a transformation of JAX (jit, grad, vmap or scan); expected a "
                "call outside, because the variables would be frozen into that. Call it there, or pass the values as arguments."
            )
        for place, requirement in enumerate(self._required, self._first_required):
            if requirement.judge is not None:
                found = np.asarray(outputs[place])
                requirement.judge(found.reshape(self._compiler.count, -1))
            else:
                _require(np.ravel(np.asarray(outputs[place])), requirement)
        if self._compared:
            self._require_equal(outputs[-1])

    def rebound(self, variables: Mapping[Storage, Storage]) -> "Program | None":
        """The same program with others in the place of some variables; None if it uses one of these already, by another way."""
        used = [storage for storage in (*self._reads, *self._writes) if storage not in variables]
        if any(new in used for new in variables.values()):
            return None
        program = copy.copy(self)
        program._reads = tuple(variables.get(storage, storage) for storage in self._reads)
        program._only_read = program._reads[: len(self._only_read)]
        program._writes = tuple(variables.get(storage, storage) for storage in self._writes)
        program._last = _nothing
        return program

    def outline(self) -> Any:
        """The result, with a spec in the place of each tensor."""
        specs = [_spec(leaf, self._compiler.local) if type(leaf) is Output else leaf for leaf in self._leaves]
        result = nest.put_together(self._shape, specs)
        return closed_slices(result) if self._has_slices else result

    def text(self, leaves: Sequence[Any], stage: str) -> str:
        """The program as the compiler has it, before or after it was optimised."""
        with self._compiler.widened(self._wide):
            return self._compiler.text(self._compiled, self._values(leaves), optimised=stage.startswith("optimized"))

    def _values(self, leaves: Sequence[Any], last: Sequence[Any] | None = None) -> list[Any]:
        """The inputs of a run.

        Args:
            last: what the last run has written, where all variables still have that.
        """
        compiler = self._compiler
        values: list[Any] = []
        for place, each in self._takes:
            leaf = leaves[place]
            values.append(leaf.compiled_for(compiler) if each else compiler.lift(leaf))
        for storage in self._reads if last is None else self._only_read:
            # Usually a variable still has what the last run of a program has left; calling a method for it costs more than a look.
            _, known, compiled = storage.held
            values.append(compiled if known is compiler else storage.compiled_for(compiler))
        if last is not None:
            values += last if self._read_again is None else [last[place] for place in self._read_again]
        if self._draws:
            values.append(self._entropy())
        return values

    def _result(self, leaf: Any, outputs: Sequence[Any], inputs: Sequence[Any]) -> Any:
        if type(leaf) is Output:
            array = outputs[leaf.place]
            if leaf.own and self._compiler.local == 1:
                return self._compiler.lower_each(array, leaf.spec)[0]
            if leaf.own:
                return PerReplica.of_compiled(self._compiler, array, leaf.spec)
            tensor = self._compiler.lower(array)
            return PerReplica([tensor]) if leaf.alone else tensor
        return leaf.given(inputs[leaf.place]) if isinstance(leaf, PassedThrough) else leaf

    def _require_equal(self, flags: Any) -> None:
        """Raise where something differs that must be equal; of each, the flag is the first replica that differs from replica 0."""
        for compared, number in zip(self._compared, map(int, self._compiler.lower(flags)), strict=True):
            if number:
                error = ValueError(
                    f"{compared.what} got different values from replica 0 and replica {number}; expected equal ones, because there "
                    f"is one value for all. Combine them first with all_reduce(), or pass aggregation=... when you make the "
                    f"variable. Nothing was written."
                )
                if compared.site:
                    met = f"{self._compiler.count} replicas met in {compared.what.partition('(')[0]}"
                    error.add_note(f"raised while {met} at {where(compared.site)}")
                raise error


def _nothing() -> None:
    """What a program has written that has not run."""


def _read_again(interface: Interface) -> tuple[Sequence[Storage], Sequence[int] | None]:
    """The variables that a program only reads, and the places of the others among what it writes; None for all, in order."""
    written = {id(storage): place for place, storage in enumerate(interface.writes)}
    only_read = [storage for storage in interface.reads if id(storage) not in written]
    places = [written[id(storage)] for storage in interface.reads[len(only_read) :]]
    return only_read, None if places == list(range(len(written))) else places


def _widely(compiler: Compiler, compiled: Compiled, *values: Any) -> Sequence[Any]:
    with compiler.widened(True):
        return compiled(*values)


def _spec(output: Output, count: int) -> Any:
    shape, dtype = output.spec
    spec = TensorSpec(shape if output.declared is None else output.declared, dtype)
    return PerReplicaSpec(*[spec] * count) if output.own or output.alone else spec


def _require(flags: Any, requirement: Requirement) -> None:
    """Raise where a replica says that something does not hold."""
    if not flags.all():
        found, count = list(map(str, np.flatnonzero(~flags))), len(flags)
        those = f"replica{'s' * (len(found) > 1)} {', '.join(found[:4])}{', ...' * (len(found) > 4)} of {count}"
        raise requirement.error(f"{requirement.text} {f'It happened in {those}. ' * (count > 1)}Nothing was written.")
