"""What only some backends have: small protocols, absent by default."""

import functools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from refdist._core.devices.device import Device
from refdist._core.seam.backend import NOWHERE, Backend, Tensor

if TYPE_CHECKING:
    from refdist._core.seam.compiler import Compiler
    from refdist._core.strategies.plan import Plan

Capability = TypeVar("Capability")


@runtime_checkable
class Timed(Protocol):
    """Keeps track of the time that devices take, and of what they hold."""

    def step(self, devices: Sequence[Device]) -> AbstractContextManager[Any]:
        """Surround one run of a function on the replicas of these devices."""
        ...

    def in_unison(self, devices: Sequence[Device], given: Any) -> AbstractContextManager[Any]:
        """Make all devices do in a block what the first of them does; a given tensor is first brought to all of them."""
        ...

    def charge_program(
        self, devices: Sequence[Device], cost: Any, algorithm: str
    ) -> Callable[..., AbstractContextManager[Any]] | None:
        """What surrounds each run of a compiled program; None where it takes no time."""
        ...

    def claimed(self, tensor: Tensor) -> Tensor:
        """Adopt a tensor that a program has made as one of this backend's own."""
        ...

    def let_go(self, array: Any) -> None:
        """Note that what a program has made has been turned into tensors."""
        ...


@runtime_checkable
class Spreads(Protocol):
    """Brings a tensor to many devices sooner than one after the other."""

    def spread(self, tensor: Tensor, devices: Sequence[Device]) -> list[Tensor]:
        """Do what `copy` does, for each of the devices."""
        ...


@runtime_checkable
class LogicalDevices(Protocol):
    """Has TPU cores, several of which can be the logical devices of one replica."""

    def tpu_mesh(self) -> np.ndarray[Any, Any]:
        """The TPU cores, as an array of devices of the shape (x, y, z, core); empty where there are none."""
        ...

    def lay_out(self, tensor: Tensor, devices: Sequence[Device], partition: Sequence[int] | None) -> Tensor:
        """Put the whole tensor on each device; or cut it as the partition says, and put the k-th piece on the k-th device."""
        ...

    def pieces(self, tensor: Tensor) -> tuple[tuple[Device, np.ndarray[Any, Any]], ...]:
        """Say which part of a tensor lies on which device."""
        ...


@runtime_checkable
class Clustered(Protocol):
    """Can play the tasks of a cluster."""

    def for_task(self, job: str, task: int, tasks: int) -> Backend:
        """A backend for one task of a cluster, with devices named after it; several tasks in a process share the real ones."""
        ...

    def connect(self, devices: Sequence[Device]) -> None:
        """Add the devices of other tasks, which this process plays too."""
        ...


@runtime_checkable
class Joins(Protocol):
    """Can compute together with other processes."""

    def has_started(self) -> bool:
        """Say whether it knows its devices already; it can join others only before."""
        ...


@runtime_checkable
class Commits(Protocol):
    """Has tensors that refuse to be combined with those of another device."""

    def loosened(self, value: Any) -> Any:
        """The same tensor, no longer tied to its device; anything else is returned as it is."""
        ...


@runtime_checkable
class Compiles(Protocol):
    """Can run programs over all replicas of a strategy."""

    def compiler(self, plan: "Plan") -> "Compiler":
        """What writes programs for the replicas of a plan."""
        ...


def capability(backend: Backend, kind: type[Capability]) -> Capability | None:
    """The backend, typed by the capability, if it has that; otherwise None."""
    return backend if _has(type(backend), kind) else None  # pyright: ignore[reportReturnType]


def required(backend: Backend, kind: type[Capability], what: str) -> Capability:
    """The same, but raise if the backend does not have it, and say what needs it."""
    found = capability(backend, kind)
    if found is None:
        raise NotImplementedError(
            f"{what} was asked of the backend {backend.name!r}, which does not have the capability {kind.__name__}; expected one "
            f'that has it. Choose another one, such as refdist.use("simulator", ...).'
        )
    return found


@functools.cache
def _has(backend: type, kind: type) -> bool:
    # Asked of types and cached, because looking for the methods of a protocol takes microseconds.
    return issubclass(backend, kind)


def in_unison(plan: "Plan", devices: Sequence[Device], given: Any) -> AbstractContextManager[Any]:
    """Make all devices do in a block what the first of them does; without a clock, it does not matter which one computes."""
    return NOWHERE if plan.timed is None else plan.timed.in_unison(devices, given)
