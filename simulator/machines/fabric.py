"""What a collective library sees of a cluster: the kind of its devices and links, and the network adapters of its hosts."""

import dataclasses
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from simulator.machines.routing import Hosts, Star

if TYPE_CHECKING:
    from simulator.machines.topology import Cluster

Inside = Literal["nvlink", "pcie", "xgmi"]
Generation = Literal["volta", "ampere", "hopper", "blackwell", "cdna"]
Processor = Literal["intel", "amd", "other"]
GIGA = 1e9


@dataclasses.dataclass(frozen=True)
class Fabric:
    """How the devices of a host are joined, and what leads out of it. Speeds are one way, as a library counts them.

    `dataclasses.replace(cluster, fabric=Fabric(...))` describes a machine that is not among the presets.
    """

    generation: Generation = "ampere"
    inside: Inside = "nvlink"
    device_bytes_per_second: float = 240e9  # from one device to the others of its host, over all links
    link_bytes_per_second: float = (
        0.0  # of a single link, where devices are joined one by one; 0 where a switch joins all
    )
    adds_in_switch: bool = False  # NVLink SHARP, which libraries call NVLS
    adapters: int = 0  # network adapters of a host
    adapter_bytes_per_second: float = 0.0
    adapter_latency_seconds: float = 0.0  # what the plugin of the network adds to each message
    adds_in_network: bool = False  # the switches of the network add, which libraries call collnet
    processor: Processor = "intel"

    def __post_init__(self) -> None:
        for field, choices in (("generation", Generation), ("inside", Inside), ("processor", Processor)):
            if getattr(self, field) not in get_args(choices):
                raise ValueError(
                    f"{field} of a Fabric is {getattr(self, field)!r}; expected one of {', '.join(get_args(choices))}. Use the one "
                    f"that is nearest to the machine."
                )
        for field in ("device_bytes_per_second", "link_bytes_per_second", "adapter_bytes_per_second"):
            value = getattr(self, field)
            if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value < float("inf"):
                raise ValueError(f"{field} of a Fabric is {value!r}; expected at least 0. Give bytes per second.")
        if self.device_bytes_per_second == 0:
            raise ValueError("device_bytes_per_second of a Fabric is 0; expected more. Give bytes per second.")


@dataclasses.dataclass(frozen=True)
class Shape:
    """A fabric with so many devices on so many hosts, and the latency of the cluster's own links."""

    fabric: Fabric
    hosts: int
    host_size: int
    inside_microseconds: float = 0.0  # from one device to another
    outside_microseconds: float = 0.0  # from one host to another

    @property
    def devices(self) -> int:
        """How many there are."""
        return self.hosts * self.host_size


def shape_of(cluster: "Cluster", what: str) -> Shape:
    """What a library sees of a cluster; raise where its links are no hosts with devices."""
    routing = cluster.routing
    if isinstance(routing, Star) and routing.shared < 0:
        hosts, size = 1, cluster.device_count
    elif isinstance(routing, Hosts):
        hosts, size = routing.hosts, cluster.device_count // routing.hosts
    else:
        raise ValueError(
            f"{what} was asked of {cluster!r} with a library; expected devices on one switch, or hosts with such devices, because "
            f"that is what libraries of GPUs are made for. Use Cluster.star, Cluster.hosts or a preset, or leave library= out."
        )
    inside = cluster.links[0]
    outside = cluster.links[2] if hosts > 1 else None
    fabric = cluster.fabric or _assumed(inside.bandwidth_bytes_per_second, outside)
    microseconds = [
        2e6 * one.latency_seconds if one is not None and np.isfinite(one.latency_seconds) else 0.0
        for one in (inside, outside)
    ]
    return Shape(fabric, hosts, size, microseconds[0], sum(microseconds))


def _assumed(device: float, outside: Any) -> Fabric:
    """A fabric for a cluster that has none: fast links are NVLink, and a host has one adapter."""
    inside: Inside = "nvlink" if device > 60e9 else "pcie"
    if outside is None:
        return Fabric(inside=inside, device_bytes_per_second=device)
    return Fabric(
        inside=inside,
        device_bytes_per_second=device,
        adapters=1,
        adapter_bytes_per_second=outside.bandwidth_bytes_per_second,
    )
