"""Clusters: devices and the links between them. Frozen values."""

import dataclasses
import math
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np

from simulator.base.limits import MOST_CLUSTER_LINKS, MOST_DEVICES
from simulator.base.notebook_tables import folded, page, table
from simulator.base.step_records import size_text, time_text
from simulator.machines.fabric import Fabric
from simulator.machines.routing import Explicit, FatTree, Hosts, Routes, Routing, Star, Torus

Array = np.ndarray[Any, Any]
Sharing = Literal["equal", "latency"]


@dataclasses.dataclass(frozen=True)
class DeviceKind:
    """What one device can do; what is left out is without limit."""

    name: str = "device"
    memory_bytes: float = math.inf
    flops_per_second: float = math.inf
    memory_bandwidth_bytes_per_second: float = math.inf

    def __post_init__(self) -> None:
        for field in ("memory_bytes", "flops_per_second", "memory_bandwidth_bytes_per_second"):
            value = getattr(self, field)
            if not (value == math.inf or (_is_number(value) and value > 0)):
                raise ValueError(
                    f"{field} of the device kind {self.name!r} is {value!r}; expected more than 0. Leave it out if it is not known."
                )


@dataclasses.dataclass(frozen=True)
class Links:
    """A number of one-way links of one kind.

    `wire_bytes_per_second` is what the manufacturer says, `bandwidth_bytes_per_second` what a long message achieves.
    """

    name: str
    count: int
    bandwidth_bytes_per_second: float
    latency_seconds: float
    wire_bytes_per_second: float = 0.0


@dataclasses.dataclass(frozen=True)
class Cluster:
    """Devices and links. Make one with `Cluster.star`, `backbone`, `fat_tree`, `torus`, `hosts` or `of_links`.

    >>> Cluster.star(4, bandwidth_bytes_per_second=1e9, latency_seconds=1e-6)
    <Cluster star of 4 devices>

    `sharing` says how messages share a link: in equal parts, or in parts that fall with the latency of the whole route, as
    TCP does and SimGrid's CM02 assumes. Ask any cluster for that by `dataclasses.replace(cluster, sharing="latency")`.
    """

    name: str
    device_count: int
    links: tuple[Links, ...]
    routing: Routing
    kind: DeviceKind = DeviceKind()
    devices_per_host: int = 0  # 0 where all devices share one host
    sharing: Sharing = "equal"
    fabric: Fabric | None = None  # what collective libraries go by; without it, they go by the links

    def __post_init__(self) -> None:
        _require_count("devices", self.device_count)
        if self.sharing not in get_args(Sharing):
            raise ValueError(f"sharing is {self.sharing!r}; expected 'equal' or 'latency'. Use one of these.")
        if not isinstance(self.kind, DeviceKind):
            raise TypeError(
                f"The kind of the devices is {self.kind!r}; expected a DeviceKind. Use one of simulator.presets, such as H100."
            )
        for link in self.links:
            _require_link(self.name, link)
        if self.link_count > MOST_CLUSTER_LINKS:
            raise ValueError(
                f"The cluster {self.name!r} has {self.link_count:,} links; expected at most {MOST_CLUSTER_LINKS:,}, which fit into "
                f"memory. Use fewer links or devices."
            )

    def __repr__(self) -> str:
        return f"<Cluster {self.name} of {self.device_count} devices>"

    def _repr_html_(self) -> str:
        speeds = self.kind.flops_per_second, self.kind.memory_bandwidth_bytes_per_second
        facts = [
            ("devices", f"{self.device_count:,} x {self.kind.name}, {self.host_size:,} on a host"),
            ("memory of a device", _size(self.kind.memory_bytes)),
            ("peak of a device", "without limit" if math.isinf(speeds[0]) else f"{speeds[0] / 1e12:,.4g} TFLOP/s"),
            ("memory bandwidth", _size(speeds[1], "/s")),
        ]
        rows: list[Sequence[str]] = []
        for index in folded(len(self.links)):
            if index is None:
                rows.append((f"... {len(self.links) - 9:,} more", "", "", ""))
                continue
            one = self.links[index]
            speed = f"{size_text(one.bandwidth_bytes_per_second)}/s"
            rows.append((one.name, f"{one.count:,}", speed, time_text(one.latency_seconds)))
        links = table("", ["links, one way", "count", "bandwidth", "latency"], rows)
        return page(table(f"Cluster {self.name}", [], facts), links)

    @property
    def host_size(self) -> int:
        """How many devices share a host."""
        return self.devices_per_host or self.device_count

    @property
    def link_count(self) -> int:
        """How many one-way links there are."""
        return sum(link.count for link in self.links)

    def bandwidth(self) -> Array:
        """The bytes per second of each link."""
        return np.repeat([link.bandwidth_bytes_per_second for link in self.links], [link.count for link in self.links])

    def latencies(self) -> Array:
        """The seconds of each link."""
        return np.repeat([link.latency_seconds for link in self.links], [link.count for link in self.links])

    def latency_of(self, routes: Routes) -> Array:
        """The seconds of each route, added link by link, so that equal routes have equal bits whatever others are asked for."""
        seconds = np.bincount(routes.route, self.latencies()[routes.links], minlength=routes.hops.size)
        return seconds.astype(np.float64)  # where nothing is counted, numpy returns ints

    def weights(self, latency: Array) -> Array:
        """How much of a shared link messages get, relative to each other, given the latencies of their routes."""
        if self.sharing == "equal":
            return np.ones(latency.size)
        # A route without latency counts as one of a second, as in SimGrid; without this its weight would be infinite.
        return 1.0 / np.where(latency > 1e-30, latency, 1.0)

    def link_name(self, number: int) -> str:
        """What a link is called."""
        before = 0
        for link in self.links:
            if before <= number < before + link.count:
                return f"{link.name} {number - before}"
            before += link.count
        raise ValueError(f"There is no link {number}; expected 0 to {before - 1}. Look at cluster.links.")

    @classmethod
    def star(
        cls, devices: int, bandwidth_bytes_per_second: float, latency_seconds: float, kind: DeviceKind | None = None
    ) -> "Cluster":
        """Every device has its own link, both ways, to one switch."""
        _require_count("devices", devices)
        pair = _both_ways("", devices, bandwidth_bytes_per_second, latency_seconds)
        return cls("star", devices, pair, Star(devices), kind or DeviceKind())

    @classmethod
    def backbone(
        cls,
        devices: int,
        bandwidth_bytes_per_second: float,
        latency_seconds: float,
        oversubscription: float = 1.0,
        kind: DeviceKind | None = None,
    ) -> "Cluster":
        """A star whose messages all share one backbone too, with a part of the bandwidth of all links together."""
        _require_count("devices", devices)
        if not (_is_number(oversubscription) and oversubscription > 0):
            raise ValueError(
                f"oversubscription is {oversubscription!r}; expected more than 0. Use 1 for a full backbone."
            )
        pair = _both_ways("", devices, bandwidth_bytes_per_second, latency_seconds)
        _require_link("backbone", pair[0])
        shared = Links("backbone", 1, devices * bandwidth_bytes_per_second / oversubscription, 0.0)
        return cls("backbone", devices, (*pair, shared), Star(devices, shared=2 * devices), kind or DeviceKind())

    @classmethod
    def fat_tree(
        cls,
        leaves: int,
        devices_per_leaf: int,
        up_links_per_leaf: int,
        bandwidth_bytes_per_second: float,
        latency_seconds: float,
        kind: DeviceKind | None = None,
    ) -> "Cluster":
        """Two levels of switches; the target says which up-link a message takes."""
        for what, count in (
            ("leaves", leaves),
            ("devices_per_leaf", devices_per_leaf),
            ("up_links_per_leaf", up_links_per_leaf),
        ):
            _require_count(what, count)
        devices = leaves * devices_per_leaf
        pair = _both_ways("", devices, bandwidth_bytes_per_second, latency_seconds)
        trunks = _both_ways("leaf ", leaves * up_links_per_leaf, bandwidth_bytes_per_second, latency_seconds)
        routing = FatTree(leaves, devices_per_leaf, up_links_per_leaf)
        return cls("fat tree", devices, (*pair, *trunks), routing, kind or DeviceKind())

    @classmethod
    def torus(
        cls,
        shape: Sequence[int],
        bandwidth_bytes_per_second: float,
        latency_seconds: float,
        kind: DeviceKind | None = None,
    ) -> "Cluster":
        """Every device has a link, both ways, to its neighbours in each dimension; messages take one dimension after the other."""
        sizes = tuple(shape) if isinstance(shape, (Sequence, np.ndarray)) else ()
        if not sizes:
            raise ValueError(
                f"The shape of the torus is {shape!r}; expected one size for each dimension. Write (4, 4)."
            )
        for size in sizes:
            _require_count(f"the torus {sizes}", size)
        devices = math.prod(sizes)
        links = tuple(
            Links(f"dimension {dimension} {way} of", devices, bandwidth_bytes_per_second, latency_seconds)
            for dimension in range(len(sizes))
            for way in ("forward", "back")
        )
        return cls("torus", devices, links, Torus(sizes), kind or DeviceKind())

    @classmethod
    def hosts(
        cls,
        hosts: int,
        devices_per_host: int,
        inside_bandwidth_bytes_per_second: float,
        inside_latency_seconds: float,
        outside_bandwidth_bytes_per_second: float,
        outside_latency_seconds: float,
        kind: DeviceKind | None = None,
    ) -> "Cluster":
        """Hosts whose devices have a switch of their own inside, and share one link, both ways, to the outside."""
        _require_count("hosts", hosts)
        _require_count("devices_per_host", devices_per_host)
        devices = hosts * devices_per_host
        inside = _both_ways("", devices, inside_bandwidth_bytes_per_second, inside_latency_seconds)
        outside = _both_ways("host ", hosts, outside_bandwidth_bytes_per_second, outside_latency_seconds)
        routing = Hosts(hosts, devices_per_host)
        return cls("hosts", devices, (*inside, *outside), routing, kind or DeviceKind(), devices_per_host)

    @classmethod
    def of_links(
        cls,
        devices: Sequence[str],
        links: Sequence[tuple[str, str, float, float]],
        kind: DeviceKind | None = None,
    ) -> "Cluster":
        """Any cluster: names of devices, and links between these and switches, both ways.

        Args:
            links: two ends, bytes per second, seconds. An end that is not a device is a switch.
        """
        names = tuple(devices)
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise ValueError(f"Two devices are called {twice[0]!r}; expected different names. Rename one.")
        for link in links:
            if len(link) != 4:
                raise ValueError(
                    f"A link is {link!r}; expected two ends, bytes per second and seconds. Write ('a', 'switch', 12.5e9, 1e-6)."
                )
        for first, second, bandwidth, latency in links:
            _require_link(f"the link from {first} to {second}", Links("", 1, bandwidth, latency))
        routing = Explicit.of(names, links)
        routing.require_connected()
        kinds = tuple(
            Links(f"{a} to {b}", 1, bandwidth, latency)
            for first, second, bandwidth, latency in links
            for a, b in ((first, second), (second, first))
        )
        return cls("links", len(names), kinds, routing, kind or DeviceKind())


def _size(count: float, unit: str = "") -> str:
    return "without limit" if math.isinf(count) else f"{size_text(count)}{unit}"


def _both_ways(name: str, count: int, bandwidth: float, latency: float) -> tuple[Links, Links]:
    return Links(f"{name}up", count, bandwidth, latency), Links(f"{name}down", count, bandwidth, latency)


def _require_count(what: str, count: Any) -> None:
    if not isinstance(count, (int, np.integer)) or isinstance(count, bool) or count < 1:
        raise ValueError(f"{what} has {count!r}; expected an int of at least 1. Give the number there is.")
    if count > MOST_DEVICES:
        raise ValueError(
            f"{what} has {count:,}; expected at most {MOST_DEVICES:,}, because more do not fit into memory. Use fewer."
        )


def _is_number(value: Any) -> bool:
    # An int may be too large for a float, which math.isfinite does not take.
    if not isinstance(value, (int, float, np.number)) or isinstance(value, bool):
        return False
    return bool(abs(value) <= sys.float_info.max)


def _require_link(where: str, link: Links) -> None:
    if not (_is_number(link.bandwidth_bytes_per_second) and link.bandwidth_bytes_per_second > 0):
        raise ValueError(
            f"The bandwidth of {(link.name or where)!r} is {link.bandwidth_bytes_per_second!r}; expected more than 0 bytes per "
            f"second. Give what it achieves."
        )
    if not (_is_number(link.latency_seconds) and link.latency_seconds >= 0):
        raise ValueError(
            f"The latency of {(link.name or where)!r} is {link.latency_seconds!r}; expected at least 0 seconds. Use 0 for none."
        )
