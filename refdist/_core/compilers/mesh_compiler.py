"""Programs over real devices: one for all replicas, spread by `shard_map` over a mesh of them."""

import contextlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec, SingleDeviceSharding

from refdist._core.base.where import HERE
from refdist._core.compilers.mesh_arrays import Assembly, parts_of
from refdist._core.compilers.meshes import AXIS, constrained, manual, mesh_of
from refdist._core.compilers.replica_compiler import ReplicaCompiler, in_program
from refdist._core.devices.device import Device
from refdist._core.seam.compiler import Compiled, Spec, WrittenProgram

if TYPE_CHECKING:
    from refdist._core.backends.jax_backend import JaxBackend
    from refdist._core.replicas.values import Storage
    from refdist._core.strategies.plan import Plan


class MeshCompiler(ReplicaCompiler):
    """Makes one program for all devices, which `shard_map` spreads."""

    def __init__(self, plan: "Plan", backend: "JaxBackend") -> None:
        super().__init__(plan)
        self._backend, self._logical = backend, len(plan.logical[0]) if plan.logical else 1
        self._places = [backend.real_device(device) for device in plan.devices]
        if self.count == self._logical == 1:
            self._same = self._each = SingleDeviceSharding(self._places[0])
        else:
            self._mesh = mesh_of(self._cores(plan), self.count, self._logical)
            self._same, self._each = (
                NamedSharding(self._mesh, spec) for spec in (PartitionSpec(), PartitionSpec(AXIS))
            )
            self._spread = Assembly(self._each, self.count)
        self._usual: Any = self._same
        # Programs with collectives that are dispatched on CPUs without waiting can abort the process.
        self.waits = self.count * self._logical > 1 and self._places[0].platform == "cpu"

    def _cores(self, plan: "Plan") -> Sequence[Any]:
        """All devices that programs run on, those of one replica after those of another."""
        if self._logical == 1:
            return self._places
        return [self._backend.real_device(core) for group in plan.logical for core in group]

    def lay_out(self, tensor: jax.Array, devices: Sequence[Device], partition: Sequence[int] | None) -> jax.Array:
        return tensor if len(devices) == 1 else constrained(in_program(tensor), len(devices), partition)

    def placed(self) -> AbstractContextManager[Any]:
        return manual(self._mesh) if self._logical > 1 else contextlib.nullcontext()

    def require_room(self, array: Any) -> None:
        self._backend.require_exact(np.asarray(array))

    def compiled(self, program: WrittenProgram) -> Compiled:
        if self.count == self._logical == 1:
            # Without inputs that lie there, JAX would compute on its default device.
            return jax.jit(self.for_one_replica(program), out_shardings=self._same)
        spread = _Spread(program)
        mapped = jax.shard_map(
            spread.of_one_replica(self.for_one_replica(program)),
            mesh=self._mesh,
            in_specs=tuple(_specs(spread.given, spread.own_given)),
            out_specs=_specs(spread.made, spread.own_made),
            axis_names={AXIS},
            check_vma=False,
        )

        def with_empty_tensors(*values: Any) -> list[Any]:
            # XLA cannot spread tensors without elements, so they are left out and made again.
            some = iter(mapped(*[value for value, aval in zip(values, spread.given, strict=True) if not _empty(aval)]))
            outputs = zip(spread.made, spread.own_made, strict=True)
            return [self._nothing(aval, own) if _empty(aval) else next(some) for aval, own in outputs]

        whole = with_empty_tensors if any(map(_empty, [*spread.given, *spread.made])) else mapped
        if self._logical == 1:
            return jax.jit(whole)
        # However the logical devices of a replica divide the work, each has the whole result at the end.
        return jax.jit(whole, out_shardings=[self._each if own else self._same for own in spread.own_made])

    def _nothing(self, aval: Any, own: bool) -> jax.Array:
        """A tensor without elements, for all replicas or with a part for each."""
        shape = (aval.shape[0] * self.count, *aval.shape[1:]) if own else aval.shape
        return jax.lax.with_sharding_constraint(jnp.zeros(shape, aval.dtype), self._each if own else self._same)

    def lift(self, tensor: Any) -> Any:
        sharding = getattr(tensor, "sharding", None)
        if sharding is self._usual:
            return tensor
        if not isinstance(tensor, jax.Array):
            tensor = np.asarray(tensor)
            self._backend.require_exact(tensor)
        elif sharding == self._same:
            self._usual = sharding  # the tensors of a loop share this very object, and comparing two takes longer
            return tensor
        return self._on_all(tensor)

    def _on_all(self, tensor: Any) -> jax.Array:
        """A tensor on each device."""
        return jax.device_put(tensor, self._same)

    def lift_each(self, tensors: Sequence[Any]) -> Any:
        if self.count == 1:
            return self.lift(tensors[0])
        shape = tuple(np.shape(tensors[0]))
        if self._logical > 1:
            join = np.concatenate if shape else np.stack
            return jax.device_put(join([np.asarray(t) for t in tensors]), self._each)
        placed = [put(t, place) for t, place in zip(tensors, self._places, strict=True)]
        if not shape:
            placed = [part.reshape((1,)) for part in placed]  # a scalar has no dimension to be spread along
        return self._spread(placed)

    def lower(self, array: Any) -> Any:
        part, here = array if self._same is self._each else array.addressable_data(0), HERE.get().device
        return part if here is None else self._backend.copy(part, here)

    def lower_each(self, array: Any, spec: Spec) -> Sequence[Any]:
        if self._logical > 1:
            by_device = {shard.device: shard.data for shard in array.addressable_shards}
            return [by_device[place].reshape(spec[0]) for place in self._places]
        # The parts of a mesh without logical devices are in the order of the replicas; asking each for its device takes longer.
        parts = parts_of(array, self.local)
        # Scalars have a dimension to be spread along, and JAX forgets how it has spread tensors without elements.
        return [part.reshape(spec[0]) for part in parts] if not spec[0] or 0 in spec[0] else parts

    def whole(self, copies: Sequence[Any], storage: "Storage") -> Any:
        if storage.own_copies and len(copies) == self.local and self.count > 1:
            return self.lift_each(copies)
        fits = storage.homes == self.devices and self._logical == 1
        if self.count == 1 or not fits:
            return self._on_all(copies[0])  # a variable of another strategy, or one copy for all
        return jax.make_array_from_single_device_arrays(copies[0].shape, self._same, list(copies))

    def parts(self, array: Any, storage: "Storage") -> Sequence[Any]:
        if self._same is self._each:
            return [self._backend.copy(array, home) for home in storage.homes]
        by_device = {shard.device: shard.data for shard in array.addressable_shards}
        shape = storage.shape
        homes = [self._backend.real_device(home) for home in storage.homes]
        first = by_device[self._places[0]]
        return [by_device[h].reshape(shape) if h in by_device else jax.device_put(first, h) for h in homes]


def put(tensor: Any, place: Any) -> Any:
    """Put a tensor on a device, unless it lies there alone; asking JAX to do nothing takes 10 us."""
    here = isinstance(tensor, jax.Array) and tensor.committed and tensor.devices() == {place}
    return tensor if here else jax.device_put(tensor, place)


class _Spread:
    """What a program takes and makes on each replica: shapes and dtypes, and whether it is the replica's own."""

    def __init__(self, program: WrittenProgram) -> None:
        self.given = [program.jaxpr.in_avals[index] for index in program.used]
        self.own_given = [program.own_inputs[index] for index in program.used]
        flags = bool(program.compared)  # one more output, which says what is equal
        self.made = [*program.jaxpr.out_avals[: len(program.own_outputs)], *[None] * flags]
        self.own_made = [*program.own_outputs, *[False] * flags]

    def of_one_replica(self, run: Callable[..., Sequence[Any]]) -> Callable[..., list[Any]]:
        """The part of one replica: a scalar has no dimension to be spread along, so it is given one."""

        def part(*values: Any) -> list[Any]:
            some = iter(values)
            inputs = [
                jnp.zeros(aval.shape, aval.dtype) if _empty(aval) else _scalar(next(some), aval, own)
                for aval, own in zip(self.given, self.own_given, strict=True)
            ]
            outputs = zip(run(*inputs), self.made, self.own_made, strict=True)
            return [x.reshape((1,)) if own and not x.ndim else x for x, aval, own in outputs if not _empty(aval)]

        return part


def _specs(avals: Sequence[Any], own: Sequence[bool]) -> list[PartitionSpec]:
    spread = [one for aval, one in zip(avals, own, strict=True) if not _empty(aval)]
    return [PartitionSpec(AXIS) if one else PartitionSpec() for one in spread]


def _empty(aval: Any) -> bool:
    return aval is not None and 0 in aval.shape


def _scalar(value: Any, aval: Any, own: bool) -> Any:
    return value.reshape(()) if own and not aval.shape else value
