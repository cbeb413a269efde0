"""The seam between the API and what computes: the Backend protocol, and the backend in use."""

import contextlib
import contextvars
import importlib
import math
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias

import numpy as np

from refdist._core.base.enums import ReduceOp
from refdist._core.devices.device import Device
from refdist._core.devices.tpu_topology import host_count, mesh_shape

Tensor: TypeAlias = Any
Tensors: TypeAlias = Sequence[Any]
MOST_DEVICES = 1_000_000  # of a machine that exists by name; they take a gigabyte and twenty seconds


class Backend(Protocol):
    """What a place to compute has to offer. A tensor is whatever it returns."""

    name: str
    tensor_type: type
    ambient: bool  # whether `on` does anything, so that replicas must be resumed inside it

    def devices(self) -> tuple[Device, ...]:
        """List all devices, the host's CPU first."""
        ...

    def on(self, device: Device | None) -> AbstractContextManager[Any]:
        """Let the backend's own functions compute on a device; None is its own default."""
        ...

    def put(self, array: Any, device: Device | None) -> Tensor:
        """Make a tensor of a numpy array on a device; None is the host, without a claim to stay there."""
        ...

    def get(self, tensor: Tensor) -> np.ndarray[Any, Any]:
        """Bring a tensor's value to numpy."""
        ...

    def device_of(self, tensor: Tensor) -> Device:
        """Say where a tensor lies."""
        ...

    def copy(self, tensor: Tensor, device: Device) -> Tensor:
        """Bring a tensor to a device."""
        ...

    def alike(self, devices: Sequence[Device], given: Any) -> AbstractContextManager[Any]:
        """Let devices do in a block what the first of them does; a tensor that is given to them is brought to all first."""
        ...

    def step(self, devices: Sequence[Device]) -> AbstractContextManager[Any]:
        """Surround one run of a function on replicas, which are on these devices."""
        ...

    def reduce(self, tensors: Tensors, op: ReduceOp, destinations: Sequence[Device], algorithm: str) -> Tensors:
        """Combine tensors of one shape and dtype, in their order, and leave the result on each destination."""
        ...

    def gather(self, tensors: Tensors, axis: int, destinations: Sequence[Device]) -> Tensors:
        """Join tensors along an axis, in their order, and leave the result on each destination."""
        ...

    def tpu_mesh(self) -> np.ndarray[Any, Any]:
        """The TPU cores, as an array of devices of the shape (x, y, z, core); empty where there is none."""
        ...

    def lay_out(self, tensor: Tensor, devices: Sequence[Device], partition: Sequence[int] | None) -> Tensor:
        """Put a tensor whole on each device; or, cut into so many pieces along each dimension, the k-th piece on the k-th."""
        ...

    def pieces(self, tensor: Tensor) -> tuple[tuple[Device, np.ndarray[Any, Any]], ...]:
        """Say which part of a tensor lies on which device."""
        ...

    def for_task(self, job: str, task: int, tasks: int) -> "Backend":
        """A backend for one task of a cluster, with devices named after it; several tasks in a process share the real ones."""
        ...

    def connect(self, devices: Sequence[Device]) -> None:
        """Have devices of other tasks too, which this process plays."""
        ...

    def tracing(self) -> bool:
        """Say whether JAX is tracing, during which no replica can pause."""
        ...

    def staging(self) -> bool:
        """Say whether JAX is making a program that runs later, into which a value read now would be frozen."""
        ...

    def compiler(self, plan: Any) -> Any:
        """What writes programs for the replicas of a plan."""
        ...


_BUILT_IN = {
    "host": "refdist._core.backends.host_backend:HostBackend",
    "simulator": "simulator.backend:SimulatorBackend",
    "jax": "refdist._core.backends.jax_backend:JaxBackend",
}
_chosen: Backend | None = None
_temporary: contextvars.ContextVar[Backend | None] = contextvars.ContextVar("temporary_backend", default=None)


def use(name: str, **options: Any) -> None:
    """Choose the backend of this process for the strategies and tensors made from now on.

    `use("simulator", gpus=8)`, `use("host", cpus=2)` and `use("jax", cpus=4)` say how many devices there are.
    """
    global _chosen
    _chosen = _open(name, options)


@contextlib.contextmanager
def using(name: str, **options: Any) -> Generator[Backend]:
    """Choose the backend for a block of code.

    >>> import refdist
    >>> with refdist.using("host", gpus=2):
    ...     refdist.distribute.MirroredStrategy().num_replicas_in_sync
    2
    """
    with using_backend(_open(name, options)) as backend:
        yield backend


@contextlib.contextmanager
def using_backend(backend: Backend) -> Generator[Backend]:
    """Use a backend that is there already for a block of code."""
    token = _temporary.set(backend)
    try:
        yield backend
    finally:
        _temporary.reset(token)


def current() -> Backend:
    """The backend in use; REFDIST_BACKEND chooses it from outside, and else it is a simulator with one CPU."""
    global _chosen
    temporary = _temporary.get()
    if temporary is not None:
        return temporary
    if _chosen is None:
        _chosen = _open(*_from_text(os.environ.get("REFDIST_BACKEND", "simulator")))
    return _chosen


def host_device(backend: Backend) -> Device:
    """The CPU on which results arrive when nobody says where."""
    return backend.devices()[0]


def device_counts(cpus: int = 1, gpus: int = 0, tpus: int | tuple[int, ...] = 0, **others: Any) -> tuple[Device, ...]:
    """The devices of a machine with so many CPUs, GPUs and TPU cores, the CPUs first.

    >>> [device.short for device in device_counts(gpus=2)]
    ['CPU:0', 'GPU:0', 'GPU:1']
    """
    if others:
        raise TypeError(
            f"The machine was asked for {', '.join(others)}; expected cpus=, gpus= and tpus=. Leave out what this backend "
            f"does not have."
        )
    counts = {"cpus": cpus, "gpus": gpus}
    for kind, count in counts.items():
        least = 1 if kind == "cpus" else 0
        if not isinstance(count, int) or isinstance(count, bool) or count < least:
            raise ValueError(f"{kind} is {count!r}; expected an int of at least {least}. Give the number of devices.")
    cores = math.prod(mesh_shape(tpus))
    if cpus + gpus + cores > MOST_DEVICES:
        raise ValueError(
            f"The machine was asked for {cpus + gpus + cores:,} devices; expected at most {MOST_DEVICES:,}, because each "
            f"takes memory and time. Use fewer."
        )
    local = tuple(Device(f"{kind[:3]}:{index}") for kind, count in counts.items() for index in range(count))
    return local + _tpu_devices(cores)


def _tpu_devices(count: int) -> tuple[Device, ...]:
    """The cores of this machine; or, where they are more than one host has, those of the hosts of a cluster, with their CPUs."""
    hosts = host_count(count)
    if hosts <= 1:
        return tuple(Device(f"TPU:{index}") for index in range(count))
    names = ["CPU:0", *(f"TPU:{index}" for index in range(count // hosts))]
    return tuple(Device(name).at("worker", task) for task in range(hosts) for name in names)


def _open(name: str, options: dict[str, Any]) -> Backend:
    target = _BUILT_IN.get(name)
    if target is not None:
        module, _, attribute = target.partition(":")
        factory: Callable[..., Backend] = getattr(importlib.import_module(module), attribute)
        return factory(**options)
    metadata = importlib.import_module("importlib.metadata")  # costs 30 ms, and is rarely needed
    others = {entry.name: entry for entry in metadata.entry_points(group="refdist._core.backends")}
    if name not in others:
        raise ValueError(
            f"The backend is {name!r}; expected one of {', '.join(dict.fromkeys([*_BUILT_IN, *others]))}. Use one of these, or "
            f"install a package that offers it under the entry point group 'refdist._core.backends'."
        )
    return others[name].load()(**options)


def _from_text(text: str) -> tuple[str, dict[str, Any]]:
    """Read a choice such as `simulator:gpus=8,cpus=2`."""
    name, _, rest = text.partition(":")
    options: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        key, separator, value = part.partition("=")
        sizes = value.split("x")
        if not separator or not all(size.isdecimal() for size in sizes):
            raise ValueError(
                f"REFDIST_BACKEND is {text!r}; expected a form such as 'simulator:gpus=8' or 'jax:cpus=4'. "
                f"Correct the part {part!r}."
            )
        options[key] = int(value) if len(sizes) == 1 else tuple(map(int, sizes))
    return name, options
