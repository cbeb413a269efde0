"""Programs over virtual devices: the replicas are rows of a batch."""

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from refdist._core.base.dtypes import is_wide
from refdist._core.base.where import HERE
from refdist._core.compilers.meshes import AXIS
from refdist._core.compilers.replica_compiler import ReplicaCompiler, unlike
from refdist._core.compilers.unrolling import unrolled, worth_it
from refdist._core.devices.tensor import labelled, make
from refdist._core.seam.compiler import Compiled, Spec, WrittenProgram
from refdist._core.seam.draft import NeedsWide

if TYPE_CHECKING:
    from refdist._core.replicas.values import Storage


class BatchCompiler(ReplicaCompiler):
    """Makes one vectorised program for all virtual devices; numbers are as exact as they are outside of programs."""

    exact: bool = True

    def require_room(self, array: Any) -> None:
        if is_wide(array.dtype) and jax.dtypes.canonicalize_dtype(array.dtype) != array.dtype:
            raise NeedsWide

    def compiled(self, program: WrittenProgram) -> Compiled:
        if worth_it(program.jaxpr.jaxpr, self.count, differ=program.steps_differ):
            return jax.jit(self._written_out(program))
        one = self.for_one_replica(program)
        if self.count == 1:
            return jax.jit(one)
        ins = tuple(0 if program.own_inputs[index] else None for index in program.used)
        outs = [0 if own else None for own in program.own_outputs] + [None] * bool(program.compared)
        return jax.jit(jax.vmap(one, in_axes=ins, out_axes=outs, axis_name=AXIS, axis_size=self.count))

    def _written_out(self, program: WrittenProgram) -> Callable[..., list[Any]]:
        """The program of all replicas as a loop over them, instead of a batch axis."""

        def run(*values: Any) -> list[Any]:
            inputs: list[Any] = [[None] * self.count for _ in program.own_inputs]
            for index, value in zip(program.used, values, strict=True):
                inputs[index] = list(value) if program.own_inputs[index] else [value] * self.count
            columns = list(zip(*unrolled(program.jaxpr, inputs, self.count), strict=True))
            outputs = [jnp.stack(c) if own else c[0] for c, own in zip(columns, program.own_outputs, strict=False)]
            if program.compared:
                differ = functools.partial(unlike, rounded=program.steps_differ)
                first = [[jnp.any(differ(x, columns[i][0])) for x in columns[i]] for i in program.compared]
                outputs.append(jnp.stack([jnp.argmax(jnp.stack(flags)) for flags in first]).astype(jnp.int32))
            return outputs

        return run

    def lift(self, tensor: Any) -> Any:
        return tensor if isinstance(tensor, jax.Array) else np.asarray(tensor)

    def lift_each(self, tensors: Sequence[Any]) -> Any:
        if self.count == 1:
            return self.lift(tensors[0])
        with jax.enable_x64(True):
            return jnp.asarray(np.stack([np.asarray(tensor) for tensor in tensors]))

    def lower(self, array: Any) -> Any:
        here = self.devices[0] if self.count == 1 else self.real.devices()[0]
        return self._claimed(make(np.asarray(array), HERE.get().device or here))

    def lower_each(self, array: Any, spec: Spec) -> list[Any]:
        host = np.asarray(array)
        self._let_go(array)
        return [self._claimed(make(row, device)) for row, device in zip(_rows(host), self.devices, strict=True)]

    def whole(self, copies: Sequence[Any], storage: "Storage") -> Any:
        if storage.own_copies and len(copies) == self.count > 1:
            return self.lift_each(copies)
        with jax.enable_x64(True):
            return jnp.asarray(copies[0])

    def parts(self, array: Any, storage: "Storage") -> Sequence[Any]:
        host, homes = np.asarray(array), storage.homes
        self._let_go(array)
        if storage.own_copies and len(homes) > 1:
            return [self._claimed(make(row, home)) for row, home in zip(_rows(host), homes, strict=True)]
        return [self._claimed(tensor) for tensor in labelled(host, homes)]

    def _claimed(self, tensor: Any) -> Any:
        return tensor if self.timed is None else self.timed.claimed(tensor)

    def _let_go(self, array: Any) -> None:
        if self.timed is not None:
            self.timed.let_go(array)


def _rows(array: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    if array.ndim > 1:
        return [np.asarray(row) for row in array]
    return [array[i : i + 1].reshape(()) for i in range(len(array))]  # arrays, where indexing would make numbers
