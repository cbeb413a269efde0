"""Programs over all replicas: traced once from the view of one replica, then spread over devices or over a batch axis."""

import abc
import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer

from refdist._core.base.enums import ReduceOp
from refdist._core.base.where import HERE
from refdist._core.compilers import integer_operators as operators
from refdist._core.compilers.costs import cost_of
from refdist._core.compilers.draft_backend import DraftBackend
from refdist._core.compilers.jax_traces import checked_indices, renewed, trace_state, writing_a_program
from refdist._core.compilers.means import averaged
from refdist._core.compilers.merging import AXIS, Replica, merged, run_program, varying_outputs
from refdist._core.compilers.unrolling import unrolled, worth_it
from refdist._core.devices.device import Device
from refdist._core.devices.tensor import labelled, make
from refdist._core.seam.capabilities import Timed, capability

operators.install()

_BITS = {1: jnp.uint8, 2: jnp.uint16, 4: jnp.uint32, 8: jnp.uint64}


@dataclasses.dataclass(frozen=True)
class Traced:
    """A program from the view of one replica."""

    jaxpr: Any
    inputs: tuple[bool, ...]  # whether each replica has its own
    outputs: tuple[bool, ...]  # the same; what follows them is only compared
    used: tuple[int, ...]  # the inputs that matter
    differing: tuple[int, ...]  # outputs that should be equal on all replicas, but need not be: they are compared
    needless: frozenset[int]  # steps that are sums of what is equal on all replicas
    steps_differ: bool  # whether replicas take different steps


class Compiler(abc.ABC):
    """Writes programs for the replicas of one strategy, and brings values into the form that these take."""

    tracer_type = Tracer
    exact = False  # whether 64-bit numbers must stay so, whatever JAX is set to

    def __init__(self, plan: Any) -> None:
        self.real, self.devices, self.count = plan.backend, plan.devices, len(plan.devices)
        self.timed: Timed | None = capability(plan.backend, Timed)
        self._steps_differ = False
        self._algorithm = plan.collectives.algorithm
        self.tracers = DraftBackend(self.real, self.lay_out, exact=self.exact)

    # What a replica can say of itself, inside a trace.

    def index(self) -> Any:
        """The number of the replica, as a tensor."""
        return lax.axis_index(AXIS)

    def combine(self, op: ReduceOp, tensor: jax.Array) -> jax.Array:
        """Combine the tensors of all replicas."""
        total = tensor if self.count == 1 else lax.psum(of_the_trace(tensor), AXIS)
        return total if op is ReduceOp.SUM else averaged(total, self.count)

    def join(self, tensor: jax.Array, axis: int) -> jax.Array:
        """Join the tensors of all replicas along an axis."""
        axis = axis % tensor.ndim
        if self.count == 1:
            return tensor
        if not tensor.shape[axis]:
            return jnp.concatenate([tensor] * self.count, axis=axis)  # XLA gathers along something only
        return lax.all_gather(of_the_trace(tensor), AXIS, axis=axis, tiled=True)

    def of_all_replicas(self, tensor: jax.Array) -> list[jax.Array]:
        """The tensors of all replicas."""
        if self.count == 1:
            return [tensor]
        gathered = lax.all_gather(of_the_trace(tensor), AXIS)
        return [gathered[index] for index in range(self.count)]

    def own(self, tensors: Sequence[Any]) -> Any:
        """The replica's own of several tensors."""
        return tensors[0] if self.count == 1 else jnp.stack(tensors)[lax.axis_index(AXIS)]

    def uniform(
        self, entropy: jax.Array, turn: int, shape: tuple[int, ...], low: Any, high: Any, dtype: Any, *, each: bool
    ) -> jax.Array:
        """Random numbers, for each replica or for all, made of what the program gets in each run."""
        key = jax.random.fold_in(jax.random.wrap_key_data(entropy, impl="threefry2x32"), turn)
        key = jax.random.fold_in(key, self.index()) if each else key
        if dtype.kind in "iu":
            return jax.random.randint(key, shape, low, high, dtype)
        return jax.random.uniform(key, shape, dtype, low, high)

    def repeating(self) -> bool:
        """Say whether the code is part of a program that may run several times, such as the body of a scan."""
        return writing_a_program()

    def lay_out(self, tensor: jax.Array, devices: Sequence[Device], partition: Sequence[int] | None) -> jax.Array:
        """Say how a tensor lies on the logical devices of the replica, where there are such."""
        return tensor

    def placed(self) -> AbstractContextManager[Any]:
        """Let a trace know the devices that it is for."""
        return contextlib.nullcontext()

    def where_own(self, number: int, mine: Any, others: Any) -> Any:
        """One value on the replica of a number, and another one elsewhere."""
        return mine if self.count == 1 else jnp.where(lax.axis_index(AXIS) == number, mine, others)

    def renewed(self) -> AbstractContextManager[Any]:
        """Be in a trace that no cache of JAX has seen."""
        return renewed()

    def state(self) -> object:
        """Which traces are open; compares equal in the same ones."""
        return trace_state()

    def traced(self, value: Any) -> bool:
        """Say whether a value becomes known when the program runs."""
        return isinstance(value, Tracer)

    # ReplicaDraft.

    def widened(self, wide: bool) -> AbstractContextManager[Any]:
        """Let 64-bit numbers stay what they are."""
        return jax.enable_x64(True) if wide else contextlib.nullcontext()

    def outside(self) -> AbstractContextManager[Any]:
        """Compute at once in the middle of a trace."""
        return jax.ensure_compile_time_eval()

    def replica(self, body: Callable[[], Sequence[Any]], number: int) -> Replica:
        """Write the part of one replica, in the middle of a trace."""
        # The name of the axis makes the trace unlike every other one, so that no cache of JAX answers with the code that another
        # replica has written.
        with renewed():
            return Replica(jax.make_jaxpr(body)())

    def merge(self, replicas: Sequence[Replica], columns: Sequence[Sequence[Any]]) -> list[Any]:
        """Make the parts of all replicas one, and run it in the middle of the trace."""
        results, differ = merged(replicas, columns)
        self._steps_differ = self._steps_differ or differ
        return results

    def trace(
        self, body: Callable[..., tuple[Sequence[Any], Sequence[bool]]], specs: Sequence[Any], inputs: Sequence[bool]
    ) -> Traced:
        """Write the whole program from the view of one replica.

        Args:
            body: returns the outputs, and whether each replica has its own of each; outputs beyond these are not
                returned, but only compared between replicas.
            specs: shape and dtype of each input.
            inputs: whether each replica has its own.
        """
        kinds: list[bool] = []
        returned: list[bool] = []
        self._steps_differ = False

        def flat(*values: Any) -> list[Any]:
            outputs, each = body(*values)
            kinds[:] = [*each, *[False] * (len(outputs) - len(each))]
            returned[:] = each
            return list(outputs)

        axes = [(AXIS, self.count)] if self.count > 1 else None
        avals = [jax.ShapeDtypeStruct(shape, _narrowed(dtype)) for shape, dtype in specs]
        with self.placed(), checked_indices():
            jaxpr = jax.make_jaxpr(flat, axis_env=axes)(*avals)
        for const in jaxpr.consts:
            if isinstance(const, Tracer):
                lax.eq(const, const)  # a tensor of another trace, which has ended: JAX says where it was made
        varying, needless = varying_outputs(jaxpr.jaxpr, inputs)
        present = {id(atom) for eqn in jaxpr.jaxpr.eqns for atom in eqn.invars} | {id(v) for v in jaxpr.jaxpr.outvars}
        used = tuple(index for index, var in enumerate(jaxpr.jaxpr.invars) if id(var) in present)
        differing = tuple(i for i, (own, differs) in enumerate(zip(kinds, varying, strict=True)) if differs and not own)
        return Traced(
            jaxpr,
            tuple(inputs),
            tuple(returned),
            used,
            differing if self.count > 1 else (),
            frozenset(needless),
            self._steps_differ,
        )

    def charge(self, traced: Traced) -> Callable[..., AbstractContextManager[Any]] | None:
        """What surrounds each run of a program, where the backend keeps time."""
        timed = self.timed
        return (
            None if timed is None else timed.charge_program(self.devices, cost_of(traced.jaxpr.jaxpr), self._algorithm)
        )

    def local(self, traced: Traced) -> Callable[..., list[Any]]:
        """The program of one replica, with a last output that says whether what should be equal is."""

        def program(*values: Any) -> list[Any]:
            inputs: list[Any] = [None] * len(traced.inputs)
            for index, value in zip(traced.used, values, strict=True):
                inputs[index] = value
            outputs = run_program(traced.jaxpr, inputs, traced.needless, self.count)
            equal: list[Any] = []
            for index in traced.differing:
                mine = outputs[index]
                outputs[index] = lax.all_gather(mine, AXIS)[0]
                equal.append(jnp.all(_bits(mine) == _bits(outputs[index])))
            del outputs[len(traced.outputs) :]
            if equal:
                outputs.append(lax.pmin(jnp.stack(equal).astype(jnp.int32), AXIS))
            return outputs

        return program

    def wait(self, outputs: Sequence[Any]) -> None:  # noqa: B027
        """Let what a program makes be there, where programs must not follow each other before that."""

    def text(self, compiled: Any, values: Sequence[Any], *, optimised: bool) -> str:
        """A program as the compiler has it."""
        lowered = compiled.lower(*values)
        return lowered.compile().as_text() if optimised else lowered.as_text(dialect="hlo")

    @abc.abstractmethod
    def compile(self, traced: Traced) -> Callable[..., Sequence[Any]]:
        """Make something callable of a program; it takes the inputs that matter."""


class BatchCompiler(Compiler):
    """Replicas are rows of a batch: one vectorised program for all virtual devices."""

    exact = True

    def compile(self, traced: Traced) -> Callable[..., Sequence[Any]]:
        program = self.local(traced)
        if worth_it(traced.jaxpr.jaxpr, self.count, differ=traced.steps_differ):
            program = self._looped(traced)
        elif self.count > 1:
            ins = tuple(0 if traced.inputs[index] else None for index in traced.used)
            outs = [0 if each else None for each in traced.outputs] + [None] * bool(traced.differing)
            program = jax.vmap(program, in_axes=ins, out_axes=outs, axis_name=AXIS, axis_size=self.count)
        return jax.jit(program)

    def _looped(self, traced: Traced) -> Callable[..., list[Any]]:
        """The program written out for each replica."""

        def program(*values: Any) -> list[Any]:
            inputs: list[Any] = [[None] * self.count for _ in traced.inputs]
            for index, value in zip(traced.used, values, strict=True):
                inputs[index] = list(value) if traced.inputs[index] else [value] * self.count
            own = unrolled(traced.jaxpr, inputs, self.count)
            columns = list(zip(*own, strict=True))
            outputs = [jnp.stack(c) if each else c[0] for c, each in zip(columns, traced.outputs, strict=False)]
            if traced.differing:
                same = [[jnp.all(_bits(columns[i][0]) == _bits(x)) for x in columns[i][1:]] for i in traced.differing]
                outputs.append(jnp.stack([jnp.all(jnp.stack(flags)) for flags in same]).astype(jnp.int32))
            return outputs

        return program

    def lift(self, tensor: Any) -> Any:
        """A plain value in the form in which programs take it."""
        return tensor if isinstance(tensor, jax.Array) else np.asarray(tensor)

    def _claimed(self, tensor: Any) -> Any:
        return tensor if self.timed is None else self.timed.claimed(tensor)

    def _let_go(self, array: Any) -> None:
        if self.timed is not None:
            self.timed.let_go(array)

    def lift_each(self, tensors: Sequence[Any]) -> Any:
        """One value for each replica in the form in which programs take them."""
        if self.count == 1:
            return self.lift(tensors[0])
        with jax.enable_x64(True):
            return jnp.asarray(np.stack([np.asarray(tensor) for tensor in tensors]))

    def lower(self, array: Any) -> Any:
        """What a program returned, as a tensor of the user's."""
        here = self.devices[0] if self.count == 1 else self.real.devices()[0]
        return self._claimed(make(np.asarray(array), HERE.get().device or here))

    def lower_each(self, array: Any, spec: Any) -> list[Any]:
        """What a program returned for each replica."""
        host = np.asarray(array)
        self._let_go(array)
        return [self._claimed(make(row, device)) for row, device in zip(_rows(host), self.devices, strict=True)]

    def whole(self, copies: Sequence[Any], variable: Any) -> Any:
        """The copies of a variable in the form in which programs take them."""
        with jax.enable_x64(True):
            return (
                self.lift_each(copies)
                if len(copies) == self.count > 1 and variable.own_copies
                else jnp.asarray(copies[0])
            )

    def parts(self, array: Any, variable: Any) -> Sequence[Any]:
        """The copies of a variable, of what a program has made."""
        host, homes = np.asarray(array), [Device(copy.device) for copy in variable.all_copies]
        self._let_go(array)
        if variable.own_copies and len(homes) > 1:
            return [self._claimed(make(row, home)) for row, home in zip(_rows(host), homes, strict=True)]
        return [self._claimed(tensor) for tensor in labelled(host, homes)]


def of_the_trace(tensor: Any) -> jax.Array:
    """A tensor that is part of the program: JAX takes a constant for equal on all replicas, and does not ask the others."""
    return tensor if isinstance(tensor, Tracer) else jnp.array(tensor, copy=True)


def _narrowed(dtype: Any) -> Any:
    """The dtype that JAX makes of one; random keys have one of their own."""
    return jax.dtypes.canonicalize_dtype(dtype) if isinstance(dtype, np.dtype) else dtype


def _bits(tensor: jax.Array) -> jax.Array:
    if tensor.dtype.kind in "biu":
        return tensor
    if tensor.dtype.kind == "c":
        return jnp.stack([_bits(tensor.real), _bits(tensor.imag)])
    return lax.bitcast_convert_type(tensor, _BITS[tensor.dtype.itemsize])


def _rows(array: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    return (
        [np.asarray(row) for row in array]
        if array.ndim > 1
        else [array[i : i + 1].reshape(()) for i in range(len(array))]
    )
