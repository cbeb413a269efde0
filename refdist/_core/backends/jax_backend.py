"""The seam on JAX's devices, one operation at a time."""

import copy
import functools
import math
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.config import default_device
from jax._src.xla_bridge import backends_are_initialized

from refdist._core.backends.jax_devices import AskedDevices, Visible, local_devices, require_host_devices, shared_out
from refdist._core.base.dtypes import is_wide
from refdist._core.base.enums import ReduceOp
from refdist._core.base.jax_facts import is_tracer
from refdist._core.compilers.means import averaged
from refdist._core.compilers.mesh_compiler import MeshCompiler
from refdist._core.compilers.meshes import constrained, sharding
from refdist._core.compilers.spanning_compiler import SpanningCompiler
from refdist._core.devices.device import Device, resolve
from refdist._core.devices.machine import device_counts
from refdist._core.devices.tpu_topology import mesh_shape
from refdist._core.seam.backend import Tensors
from refdist._core.seam.compiler import Compiler

if TYPE_CHECKING:
    from refdist._core.strategies.plan import Plan


class JaxBackend:
    """Tensors are JAX's own arrays, so everything written for JAX works in a replica.

    Args:
        cpus: how many host devices to ask JAX for, before it starts; without it, as many as JAX has.
        gpus: how many GPUs, real ones or else processors that play them.
        tpus: how many cores of TPUs, or the sizes of their mesh: x, y, z and the cores of a chip.
        visible: the numbers of the devices of each kind that are used; `tf.config.set_visible_devices` gives them.
    """

    name = "jax"
    tensor_type: type = jax.Array

    def __init__(
        self,
        cpus: int | None = None,
        gpus: int | None = None,
        tpus: int | tuple[int, ...] | None = None,
        visible: Visible | None = None,
        **others: Any,
    ) -> None:
        told = {"cpus": _cpus_of_a_worker() if cpus is None else cpus, "gpus": gpus, "tpus": tpus}
        counts = {kind: count for kind, count in told.items() if count is not None}
        self._mesh = mesh_shape(counts.get("tpus", 0))
        counted = frozenset(kind[:3].upper() for kind in counts)
        self._asked = AskedDevices(device_counts(**counts, **others), counted, visible or {})
        require_host_devices(self._asked)
        self._groups: set[tuple[Any, ...]] = set()  # the logical devices of replicas whose tensors were laid out
        self._home: Any = None  # where values without a device go; None lets JAX decide

    @functools.cached_property
    def _real(self) -> dict[Device, Any]:
        """JAX's own objects for the devices; asking for them starts JAX, after which it can join no other processes."""
        return local_devices(self._asked)

    @functools.cached_property
    def _names(self) -> dict[Any, Device]:
        return {device: name for name, device in self._real.items()}

    def has_started(self) -> bool:
        return backends_are_initialized()

    def devices(self) -> tuple[Device, ...]:
        return tuple(self._real)

    def _device(self, device: Device) -> Any:
        return self._real[resolve(device, tuple(self._real))]

    def on(self, device: Device | None) -> AbstractContextManager[Any]:
        if device is not None:
            return jax.default_device(self._device(device))
        return jax.default_device(self._home or default_device.get_global())  # whatever block the code is in

    def put(self, array: Any, device: Device | None) -> jax.Array:
        # JAX may keep using the memory of a numpy array, so it gets a copy.
        value = array if isinstance(array, jax.Array) else np.array(array, copy=True)
        if value.dtype.kind in "OSU":
            raise TypeError(
                f"The value {array!r} is text; expected numbers, because JAX has no string arrays. Keep it out of tensors, "
                f"or use the simulator."
            )
        _require_exact(value)
        # Without a device the array is not committed, so that replicas can use it on theirs.
        if device is not None:
            return jax.device_put(value, self._device(device))
        with jax.default_device(self._home):
            return jnp.asarray(value)

    def get(self, tensor: jax.Array) -> np.ndarray[Any, Any]:
        return np.array(tensor, copy=True)

    def device_of(self, tensor: jax.Array) -> Device:
        devices = tensor.devices()
        if len(devices) > 1 and (group := tuple(shard.device for shard in tensor.addressable_shards)) in self._groups:
            return self._names[group[0]]
        found = [self._names.get(device) for device in devices]
        if len(found) != 1 or found[0] is None:
            raise ValueError(
                f"An array lies on {sorted(map(str, tensor.devices()))}; expected one of the devices of this backend: "
                f"{', '.join(name.short for name in self._real)}. Bring it to one of them with jax.device_put()."
            )
        return found[0]

    def copy(self, tensor: jax.Array, device: Device) -> jax.Array:
        return jax.device_put(tensor, self._device(device))

    def loosened(self, leaf: Any) -> Any:
        """The same tensor, no longer tied to its device, so that it can be combined with tensors on any device."""
        if not isinstance(leaf, jax.Array) or not leaf.committed or len(leaf.devices()) > 1:
            return leaf
        with jax.default_device(next(iter(leaf.devices()))):
            return jnp.asarray(np.asarray(leaf))

    def reduce(self, tensors: Tensors, op: ReduceOp, destinations: Sequence[Device], algorithm: str) -> Tensors:
        # Some of the tensors may belong to other workers, so only the destinations are known to be devices of this one.
        here = [self.copy(tensor, destinations[0]) for tensor in tensors]
        result = _mean(here) if op is ReduceOp.MEAN else _sum(here)
        return [self.copy(result, device) for device in destinations]

    def gather(self, tensors: Tensors, axis: int, destinations: Sequence[Device]) -> Tensors:
        joined = jnp.concatenate([self.copy(tensor, destinations[0]) for tensor in tensors], axis=axis)
        return [self.copy(joined, device) for device in destinations]

    def tpu_mesh(self) -> np.ndarray[Any, Any]:
        cores = [name for name in self._real if name.kind == "TPU"]
        # Where there is no TPU, and none was asked for, CPUs play the cores under their own names.
        cores = cores or [name for name in self._real if name.kind == "CPU"]
        shape = self._mesh if math.prod(self._mesh) == len(cores) else mesh_shape(len(cores))
        return np.array(cores, object).reshape(shape)

    def lay_out(self, tensor: jax.Array, devices: Sequence[Device], partition: Sequence[int] | None) -> jax.Array:
        if is_tracer(tensor):
            return constrained(tensor, len(devices), partition)
        if len(devices) == 1:
            return self.copy(tensor, devices[0])
        group = tuple(self._device(device) for device in devices)
        self._groups.add(group)
        return jax.device_put(tensor, sharding(group, partition))

    def pieces(self, tensor: jax.Array) -> tuple[tuple[Device, np.ndarray[Any, Any]], ...]:
        return tuple((self._names[shard.device], np.array(shard.data)) for shard in tensor.addressable_shards)

    def for_task(self, job: str, task: int, tasks: int) -> "JaxBackend":
        own = {name: device for name, device in self._real.items() if name.beside(next(iter(self._real)))}
        clone = copy.copy(self)
        clone._real = shared_out(own, job, task, tasks)
        clone._names = {device: name for name, device in clone._real.items()}
        clone._home = next(iter(clone._real.values()))
        clone.__dict__.pop("default_strategy", None)
        return clone

    def connect(self, devices: Sequence[Device]) -> None:
        own = [name for name in self._names.values() if name.beside(next(iter(self._real)))]
        for device in devices:
            # Tasks share the devices of this machine, which keep their own names: an array does not know which task it belongs to.
            kind = [name for name in own if name.kind == device.kind] or own
            self._real.setdefault(device, self._real[kind[device.task % len(kind)]])

    def require_exact(self, value: Any) -> None:
        """Raise where JAX would silently cut a value to 32 bits."""
        _require_exact(value)

    def real_device(self, device: Device) -> Any:
        """JAX's own object for a device."""
        return self._device(device)

    def compiler(self, plan: "Plan") -> Compiler:
        return MeshCompiler(plan, self) if plan.peers is None else SpanningCompiler(plan, self)


def _require_exact(value: Any) -> None:
    """Raise where JAX would silently cut a value to 32 bits."""
    narrow = jax.dtypes.canonicalize_dtype(value.dtype)
    if narrow == value.dtype or not is_wide(value.dtype) or not value.size:
        return
    numbers = np.stack([value.real, value.imag]) if value.dtype.kind == "c" else value
    limits = np.iinfo(narrow) if value.dtype.kind in "iu" else np.finfo(narrow)
    known = numbers if value.dtype.kind in "iu" else numbers[np.isfinite(numbers)]
    if known.size and (known.min() < limits.min or known.max() > limits.max):
        raise OverflowError(
            f"A value of dtype {value.dtype} goes from {numbers.min()} to {numbers.max()}; expected what fits into {narrow}, "
            f"because JAX works in 32 bits. Set jax_enable_x64, or JAX_ENABLE_X64=1 outside, to use 64."
        )


@jax.jit
def _sum(tensors: list[jax.Array]) -> jax.Array:
    return functools.reduce(jnp.add, tensors)


@jax.jit
def _mean(tensors: list[jax.Array]) -> jax.Array:
    return averaged(functools.reduce(jnp.add, tensors), len(tensors))


def _cpus_of_a_worker() -> int:
    """Return how many host devices there are if the program does not say: one, or what the launcher was told."""
    told = os.environ.get("REFDIST_DEVICES_PER_WORKER", "")
    return int(told) if told.isdecimal() and int(told) else 1
