"""Programs over real devices: one for all replicas, spread by `shard_map` over a mesh of them."""

import contextlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec, SingleDeviceSharding

from refdist._core.base.where import HERE
from refdist._core.compilers.compiler import Compiler, Traced, of_the_trace
from refdist._core.compilers.merging import AXIS
from refdist._core.compilers.meshes import constrained, manual, mesh_of
from refdist._core.devices.device import Device


class MeshCompiler(Compiler):
    """Replicas are devices: one program for all, spread by `shard_map`."""

    def __init__(self, plan: Any) -> None:
        super().__init__(plan)
        real, self._logical = self.real, len(plan.logical[0]) if plan.logical else 1
        self._places = [real.real_device(device) for device in plan.devices]
        if self.count == self._logical == 1:
            self._same = self._each = SingleDeviceSharding(self._places[0])
        else:
            cores = (
                [real.real_device(core) for group in plan.logical for core in group]
                if self._logical > 1
                else self._places
            )
            self._mesh = mesh_of(cores, self.count, self._logical)
            self._same, self._each = (
                NamedSharding(self._mesh, spec) for spec in (PartitionSpec(), PartitionSpec(AXIS))
            )
        self._usual: Any = self._same
        # Programs with collectives that are dispatched on CPUs without waiting can abort the process.
        self._waits = self.count * self._logical > 1 and self._places[0].platform == "cpu"

    def lay_out(self, tensor: jax.Array, devices: Sequence[Device], partition: Sequence[int] | None) -> jax.Array:
        return tensor if len(devices) == 1 else constrained(of_the_trace(tensor), len(devices), partition)

    def placed(self) -> AbstractContextManager[Any]:
        return manual(self._mesh) if self._logical > 1 else contextlib.nullcontext()

    def compile(self, traced: Traced) -> Callable[..., Sequence[Any]]:
        program = self.local(traced)
        if self.count == self._logical == 1:
            return jax.jit(program)
        given = [traced.jaxpr.in_avals[index] for index in traced.used]
        made = [*traced.jaxpr.out_avals[: len(traced.outputs)], *[None] * bool(traced.differing)]
        each = [traced.inputs[index] for index in traced.used]
        flagged = [*traced.outputs, *[False] * bool(traced.differing)]

        def spread(*values: Any) -> list[Any]:
            # A scalar has no dimension to be spread along, and is given one.
            some = iter(values)
            own = [
                jnp.zeros(aval.shape, aval.dtype) if _empty(aval) else _scalar(next(some), aval, e)
                for aval, e in zip(given, each, strict=True)
            ]
            outputs = zip(program(*own), made, flagged, strict=True)
            return [x.reshape((1,)) if e and not x.ndim else x for x, aval, e in outputs if not _empty(aval)]

        def specs(avals: Sequence[Any], each: Sequence[bool]) -> list[Any]:
            known = [e for aval, e in zip(avals, each, strict=True) if not _empty(aval)]
            return [PartitionSpec(AXIS) if e else PartitionSpec() for e in known]

        ins, outs = tuple(specs(given, each)), specs(made, flagged)
        mapped = jax.shard_map(
            spread, mesh=self._mesh, in_specs=ins, out_specs=outs, axis_names={AXIS}, check_vma=False
        )

        def whole(*values: Any) -> list[Any]:
            # XLA cannot spread what has no elements; it is left out, and made again.
            some = iter(mapped(*[value for value, aval in zip(values, given, strict=True) if not _empty(aval)]))
            return [
                self._nothing(aval, e) if _empty(aval) else next(some) for aval, e in zip(made, flagged, strict=True)
            ]

        # Whatever the logical devices of a replica share out among themselves, each has the whole result at the end.
        ends = [self._each if e else self._same for e in flagged]
        program_of_all = whole if any(map(_empty, [*given, *made])) else mapped
        return jax.jit(program_of_all, out_shardings=ends) if self._logical > 1 else jax.jit(program_of_all)

    def _nothing(self, aval: Any, each: bool) -> jax.Array:
        """A tensor without elements, for all replicas or with a part for each."""
        shape = (aval.shape[0] * self.count, *aval.shape[1:]) if each else aval.shape
        return jax.lax.with_sharding_constraint(jnp.zeros(shape, aval.dtype), self._each if each else self._same)

    def wait(self, outputs: Sequence[Any]) -> None:
        if self._waits and outputs:
            outputs[0].block_until_ready()

    def lift(self, tensor: Any) -> Any:
        sharding = getattr(tensor, "sharding", None)
        if sharding is self._usual:
            return tensor
        if not isinstance(tensor, jax.Array):
            tensor = np.asarray(tensor)
            self.real.require_exact(tensor)
        elif sharding == self._same:
            self._usual = sharding  # the tensors of a loop share the very object, and to compare two takes longer
            return tensor
        return jax.device_put(tensor, self._same)

    def lift_each(self, tensors: Sequence[Any]) -> Any:
        if self.count == 1:
            return self.lift(tensors[0])
        shape = tuple(np.shape(tensors[0]))
        if self._logical > 1:
            join = np.concatenate if shape else np.stack
            return jax.device_put(join([np.asarray(t) for t in tensors]), self._each)
        placed = [jax.device_put(t, place) for t, place in zip(tensors, self._places, strict=True)]
        if not shape:
            return jax.make_array_from_single_device_arrays(
                (self.count,), self._each, [p.reshape((1,)) for p in placed]
            )
        return jax.make_array_from_single_device_arrays((shape[0] * self.count, *shape[1:]), self._each, placed)

    def lower(self, array: Any) -> Any:
        part, here = array if self._same is self._each else array.addressable_data(0), HERE.get().device
        return part if here is None else self.real.copy(part, here)

    def lower_each(self, array: Any, spec: Any) -> list[Any]:
        by_device = {shard.device: shard.data for shard in array.addressable_shards}
        return [by_device[place].reshape(spec[0]) for place in self._places]

    def whole(self, copies: Sequence[Any], storage: Any) -> Any:
        if storage.own_copies and len(copies) == self.count > 1:
            return self.lift_each(copies)
        fits = storage.homes == self.devices and self._logical == 1
        if self.count == 1 or not fits:
            return jax.device_put(copies[0], self._same)  # a variable of another strategy, or one copy for all
        return jax.make_array_from_single_device_arrays(copies[0].shape, self._same, list(copies))

    def parts(self, array: Any, storage: Any) -> Sequence[Any]:
        if self._same is self._each:
            return [self.real.copy(array, home) for home in storage.homes]
        by_device = {shard.device: shard.data for shard in array.addressable_shards}
        shape = storage.shape
        homes = [self.real.real_device(home) for home in storage.homes]
        first = by_device[self._places[0]]
        return [by_device[h].reshape(shape) if h in by_device else jax.device_put(first, h) for h in homes]


def _empty(aval: Any) -> bool:
    return aval is not None and 0 in aval.shape


def _scalar(value: Any, aval: Any, each: bool) -> Any:
    return value.reshape(()) if each and not aval.shape else value
