"""Programs over all replicas, written from the point of view of one of them: what every compiler has in common."""

import abc
import contextlib
import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer

from refdist._core.base.enums import ReduceOp
from refdist._core.base.jax_facts import is_tracer
from refdist._core.compilers import array_methods
from refdist._core.compilers import integer_operators as operators
from refdist._core.compilers.between_processes import digests, equal_to_the_first, with_outputs_to_compare
from refdist._core.compilers.costs import cost_of
from refdist._core.compilers.draft_backend import DraftBackend
from refdist._core.compilers.further_inputs import further_input, with_further_inputs
from refdist._core.compilers.jax_traces import checked_indices, made_from, trace_state, unseen_trace, writing_a_program
from refdist._core.compilers.means import averaged
from refdist._core.compilers.merging import merged
from refdist._core.compilers.meshes import AXIS
from refdist._core.compilers.open_sizes import open_size, sized
from refdist._core.compilers.printing import finished, prints
from refdist._core.compilers.varying import run_program, varying_outputs
from refdist._core.devices.device import Device
from refdist._core.seam.backend import Backend
from refdist._core.seam.capabilities import Timed, capability
from refdist._core.seam.compiler import Body, Charge, Compiled, ReplicaPart, Spec, WrittenProgram

if TYPE_CHECKING:
    from refdist._core.replicas.values import Storage
    from refdist._core.strategies.plan import Plan

operators.install()
array_methods.install()

_BITS = {1: jnp.uint8, 2: jnp.uint16, 4: jnp.uint32, 8: jnp.uint64}


class ReplicaCompiler(abc.ABC):
    """Writes programs for the replicas of one strategy; subclasses decide how to spread them over devices."""

    tracer_type: type = Tracer
    exact: bool = False
    waits: bool = False

    def __init__(self, plan: "Plan") -> None:
        self.real, self.devices, self.local = plan.backend, plan.devices, len(plan.devices)
        self.peers, self.count = plan.peers, self.local if plan.peers is None else plan.replicas
        self.timed: Timed | None = capability(plan.backend, Timed)
        self.draft_backend: Backend = DraftBackend(self.real, self.lay_out, self.require_room)
        self._steps_differ = False  # in the program that is being written
        self._algorithm = plan.collectives.algorithm_of(plan.communication)

    # What a replica can say about itself and the others while a program is written.

    def replica_number(self) -> jax.Array:
        return lax.axis_index(AXIS)

    def made_from(self, tensor: Any, origin: Any) -> bool:
        return made_from(tensor, origin)

    def combine(self, op: ReduceOp, tensor: jax.Array) -> jax.Array:
        total = tensor if self.count == 1 else _added_up(in_program(tensor))
        return total if op is ReduceOp.SUM else averaged(total, self.count)

    def join(self, tensor: jax.Array, axis: int) -> jax.Array:
        axis = axis % tensor.ndim
        if self.count == 1:
            return tensor
        if not tensor.shape[axis]:
            return jnp.concatenate([tensor] * self.count, axis=axis)  # XLA cannot gather along an axis without elements
        return lax.all_gather(in_program(tensor), AXIS, axis=axis, tiled=True)

    def permute(self, tensor: jax.Array, sources: Sequence[int]) -> jax.Array:
        if self.count == 1:
            return tensor
        return lax.ppermute(in_program(tensor), AXIS, [(source, target) for target, source in enumerate(sources)])

    def of_all_replicas(self, tensor: jax.Array) -> list[jax.Array]:
        if self.count == 1:
            return [tensor]
        gathered = lax.all_gather(in_program(tensor), AXIS)
        return [gathered[index] for index in range(self.count)]

    def of_local_replicas(self, tensor: jax.Array) -> list[jax.Array]:
        if self.local == self.count:
            return self.of_all_replicas(tensor)
        if self.local == 1:
            return [tensor]
        gathered, first = lax.all_gather(in_program(tensor), AXIS), self._first_in_process()
        return [gathered[first + index] for index in range(self.local)]

    def _first_in_process(self) -> Any:
        """The number of the first replica that is in the same process as this one."""
        return 0 if self.local == self.count else lax.axis_index(AXIS) // self.local * self.local

    def own_of(self, tensors: Sequence[Any]) -> Any:
        return tensors[0] if self.count == 1 else jnp.stack(tensors)[lax.axis_index(AXIS)]

    def on_replica(self, number: int, value: Any, elsewhere: Any) -> Any:
        return value if self.count == 1 else jnp.where(lax.axis_index(AXIS) == number, value, elsewhere)

    def lay_out(self, tensor: jax.Array, devices: Sequence[Device], partition: Sequence[int] | None) -> jax.Array:
        """Say how a tensor is laid out on the logical devices of the replica, if it has any."""
        return tensor

    # Writing.

    def write(self, body: Body, specs: Sequence[Spec], own_inputs: Sequence[bool]) -> WrittenProgram:
        own_outputs: list[bool] = []
        self._steps_differ = False

        def recorded(*values: Any) -> list[Any]:
            outputs, own_outputs[:] = body(*values)
            return list(outputs)

        axes = [(AXIS, self.count)] if self.count > 1 else None
        avals = [jax.ShapeDtypeStruct(shape, _narrowed(dtype)) for shape, dtype in specs]
        with self.placed(), checked_indices():
            jaxpr, further = with_further_inputs(jax.make_jaxpr(recorded, axis_env=axes)(*avals))
        own_inputs = (*further.own, *own_inputs)
        for const in jaxpr.consts:
            if is_tracer(const):
                lax.eq(const, const)  # a tensor of another trace, which has ended: JAX says where it was made
        varying, needless = self._varying(jaxpr.jaxpr, own_inputs)
        present = {id(atom) for eqn in jaxpr.jaxpr.eqns for atom in eqn.invars} | {id(v) for v in jaxpr.jaxpr.outvars}
        owned = [*own_outputs, *[False] * (len(varying) - len(own_outputs))]
        compared = [i for i, (own, varies) in enumerate(zip(owned, varying, strict=True)) if varies and not own]
        return WrittenProgram(
            jaxpr,
            own_inputs=own_inputs,
            own_outputs=tuple(own_outputs),
            used=tuple(index for index, var in enumerate(jaxpr.jaxpr.invars) if id(var) in present),
            compared=tuple(compared) if self.count > 1 else (),
            needless_sums=frozenset(needless),
            steps_differ=self._steps_differ,
            further=further.numbers,
        )

    def _varying(self, jaxpr: Any, own_inputs: Sequence[bool]) -> tuple[list[bool], set[int]]:
        """Which outputs may differ between replicas, and which sums are needless; plain values are each process's own."""
        varying, needless = varying_outputs(jaxpr, own_inputs)
        return varying, needless if self.peers is None else set()

    def compared_between_processes(
        self, program: WrittenProgram, common_inputs: Sequence[bool], common_outputs: Collection[int]
    ) -> WrittenProgram:
        return program if self.peers is None else with_outputs_to_compare(program, common_inputs, common_outputs)

    def further_input(self, spec: Spec, number: int, *, own: bool) -> jax.Array:
        shape, dtype = spec
        return further_input(shape, _narrowed(dtype), own=own and self.count > 1, number=number)

    def open_size(self, name: str) -> Any:
        return open_size(name)

    def sized_shape(self, shape: tuple[Any, ...], sizes: Mapping[str, int]) -> tuple[int, ...]:
        return sized(shape, sizes)

    def sized(self, program: WrittenProgram, sizes: Mapping[str, int]) -> WrittenProgram:
        jaxpr = sized(program.jaxpr, sizes)
        _, needless = self._varying(jaxpr.jaxpr, program.own_inputs)
        return dataclasses.replace(program, jaxpr=jaxpr, needless_sums=frozenset(needless))

    def write_replica(self, body: Callable[[], Sequence[Any]]) -> ReplicaPart:
        with unseen_trace():  # so that no cache of JAX answers with the code that another replica has written
            return jax.make_jaxpr(body)()

    def merge(self, parts: Sequence[ReplicaPart], columns: Sequence[Sequence[Any]]) -> list[Any]:
        results, differ = merged(parts, columns)
        self._steps_differ = self._steps_differ or differ
        return results

    def placed(self) -> AbstractContextManager[Any]:
        """Tell JAX, while a program is written, which devices it is for."""
        return contextlib.nullcontext()

    def widened(self, wide: bool) -> AbstractContextManager[Any]:
        return jax.enable_x64(True) if wide else contextlib.nullcontext()

    def at_once(self) -> AbstractContextManager[Any]:
        return jax.ensure_compile_time_eval()

    def unseen_trace(self) -> AbstractContextManager[Any]:
        return unseen_trace()

    def open_traces(self) -> object:
        return trace_state()

    def may_repeat(self) -> bool:
        return writing_a_program()

    @abc.abstractmethod
    def require_room(self, array: Any) -> None:
        """Raise if the numbers of an array would change, because JAX cuts 64 bits to 32."""

    # Running.

    def compile(self, program: WrittenProgram) -> Compiled:
        return finished(self.compiled(program)) if prints(program.jaxpr.effects) else self.compiled(program)

    @abc.abstractmethod
    def compiled(self, program: WrittenProgram) -> Compiled:
        """Turn a program into a function of the inputs that matter, for the devices of the compiler."""

    def for_one_replica(self, program: WrittenProgram) -> Callable[..., list[Any]]:
        """A program as a function that each replica runs; its last output says whether the outputs that should be equal are."""

        def run(*values: Any) -> list[Any]:
            inputs: list[Any] = [None] * len(program.own_inputs)
            for index, value in zip(program.used, values, strict=True):
                inputs[index] = value
            outputs = run_program(program.jaxpr, inputs, program.needless_sums, self.count)
            equal: list[Any] = []
            for index in program.compared:
                if index in program.by_digest:
                    continue
                mine, first = outputs[index], self._first_in_process() if index < program.results else 0
                outputs[index] = lax.all_gather(mine, AXIS)[first]
                equal.append(~jnp.any(unlike(mine, outputs[index], rounded=program.steps_differ)))
            if program.by_digest:  # the last ones that are compared
                equal += equal_to_the_first(digests([outputs[index] for index in sorted(program.by_digest)]))
            del outputs[len(program.own_outputs) :]
            if equal:
                differing = jnp.where(jnp.stack(equal), self.count, lax.axis_index(AXIS)).astype(jnp.int32)
                outputs.append(lax.pmin(differing, AXIS) % self.count)
            return outputs

        return run

    def charge(self, program: WrittenProgram) -> Charge | None:
        if self.timed is None:
            return None
        return self.timed.charge_program(self.devices, cost_of(program.jaxpr.jaxpr), self._algorithm)

    def wait(self, outputs: Sequence[Any]) -> None:
        if outputs:
            outputs[0].block_until_ready()

    def text(self, compiled: Any, values: Sequence[Any], *, optimised: bool) -> str:
        lowered = compiled.lower(*values)
        return lowered.compile().as_text() if optimised else lowered.as_text(dialect="hlo")

    # Converting values to the form that programs take, and back.

    @abc.abstractmethod
    def lift(self, tensor: Any) -> Any: ...

    @abc.abstractmethod
    def lift_each(self, tensors: Sequence[Any]) -> Any: ...

    @abc.abstractmethod
    def lower(self, array: Any) -> Any: ...

    @abc.abstractmethod
    def lower_each(self, array: Any, spec: Spec) -> Sequence[Any]: ...

    @abc.abstractmethod
    def whole(self, copies: Sequence[Any], storage: "Storage") -> Any: ...

    @abc.abstractmethod
    def parts(self, array: Any, storage: "Storage") -> Sequence[Any]: ...


def in_program(tensor: Any) -> jax.Array:
    """A tensor as part of the program: JAX assumes that a constant is equal on all replicas, and does not ask the others."""
    return tensor if is_tracer(tensor) else jnp.array(tensor, copy=True)


def _added_up(tensor: jax.Array) -> jax.Array:
    """The sum over all replicas; XLA ends the process where it finds that complex terms are constant, so it gets real ones."""
    if tensor.dtype.kind != "c":
        return lax.psum(tensor, AXIS)
    return lax.complex(lax.psum(tensor.real, AXIS), lax.psum(tensor.imag, AXIS))


def unlike(tensor: jax.Array, other: jax.Array, *, rounded: bool) -> jax.Array:
    """Where two tensors differ.

    Args:
        rounded: whether they may differ in the last bits: XLA rounds the same sum differently in two pieces of code.
    """
    apart = bits(tensor) != bits(other)
    if not rounded or tensor.dtype.kind not in "fV":
        return apart
    tolerance = 64 * jnp.finfo(tensor.dtype).eps * jnp.max(jnp.abs(other), initial=0)
    return apart & ~(jnp.abs(tensor - other) <= tolerance)


def bits(tensor: jax.Array) -> jax.Array:
    """A tensor as integers, which are equal exactly where the bits are: for zeros and nan, too."""
    if tensor.dtype.kind in "biu":
        return tensor
    if tensor.dtype.kind == "c":
        return jnp.stack([bits(tensor.real), bits(tensor.imag)])
    return lax.bitcast_convert_type(tensor, _BITS[tensor.dtype.itemsize])


def _narrowed(dtype: Any) -> Any:
    """The dtype that JAX uses for a dtype; random keys have a dtype of their own."""
    return jax.dtypes.canonicalize_dtype(dtype) if isinstance(dtype, np.dtype) else dtype
