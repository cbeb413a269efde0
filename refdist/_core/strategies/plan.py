"""Everything in which one strategy differs from another, as data."""

import dataclasses
import functools
from typing import Any

from refdist._core.base.options import NO_HINTS, CommunicationOptions
from refdist._core.devices.device import Device
from refdist._core.seam.backend import Backend
from refdist._core.seam.capabilities import Spreads, Timed, capability
from refdist._core.seam.peers import Peers
from refdist._core.strategies.cross_device_ops import CrossDeviceOps
from refdist._core.variables.placement import Placement


@dataclasses.dataclass(frozen=True)
class Plan:
    """Which devices compute, where variables live, and how values are combined."""

    name: str
    backend: Backend
    devices: tuple[Device, ...]  # one for each replica
    homes: tuple[Device, ...]  # one for each copy of a variable; where variables have one copy, they take turns
    placement: Placement
    collectives: CrossDeviceOps
    workers: int = 1  # how many workers there are; this plan has the devices of one of them
    worker: int = 0
    peers: Peers | None = None  # the other workers where these are processes of their own
    scope_device: Device | None = None  # where tensors go in the scope
    resolver: Any = None
    logical: tuple[tuple[Device, ...], ...] = ()  # the logical devices of each replica, where it can have several
    spmd: bool = False  # whether all logical devices run one program, so that none can be given something of its own
    traces_once: bool = False  # whether staged execution traces a body once for all replicas
    communication: CommunicationOptions = NO_HINTS  # where a call says nothing else

    @property
    def replicas(self) -> int:
        """How many replicas all workers have together."""
        return len(self.devices) * self.workers

    @property
    def in_lockstep(self) -> bool:
        """Whether there are several workers that can meet in Python only, because this process plays all of them."""
        return self.workers > 1 and self.peers is None

    @property
    def first_replica(self) -> int:
        """The number of this worker's first replica."""
        return len(self.devices) * self.worker

    @functools.cached_property
    def timed(self) -> Timed | None:
        """The backend if it keeps time, otherwise None."""
        return capability(self.backend, Timed)

    @functools.cached_property
    def spreads(self) -> Spreads | None:
        """The backend if it brings a tensor to many devices at once, otherwise None."""
        return capability(self.backend, Spreads)
