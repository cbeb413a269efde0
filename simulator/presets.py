"""Real machines as clusters, with the numbers that their makers publish and the speeds that long messages reach.

Every speed is one way, in decimal bytes per second. `wire_bytes_per_second` is the maker's; `bandwidth_bytes_per_second`
is what the clock uses, and comes from public figures:

| link | wire | achieved | why |
|---|---|---|---|
| NVLink 3, 12 links of 25 GB/s | 300e9 | 240e9 | NCCL counts 20.0 GB/s for each link of an A100 |
| NVLink 4, 18 links of 25 GB/s | 450e9 | 370.8e9 | NCCL counts 20.6, and its ring measures about 370 GB/s |
| NVLink 5, 18 links of 50 GB/s | 900e9 | 721.8e9 | NCCL counts 40.1 for each link of a B200 |
| InfiniBand or RoCE | 100, 200 or 400 Gb/s | 96 % | NCCL counts 12.0 of 12.5 GB/s; ConnectX-7 measures 48 to 49 of 50 |
| PCIe x16, generations 4 and 5 | 31.5e9, 63.0e9 | 86 % | copies between devices measure 54 of 63 GB/s on generation 5 |
| Ethernet with TCP | as given | 94 % | 1,448 of the 1,538 bytes of a full frame are payload |
| ICI of TPU v4 and v5e | 50e9 | 45e9 | 400 Gb/s a port; "How to Scale Your Model" counts 4.5e10 |
| ICI of TPU v5p | 100e9 | 90e9 | 800 Gb/s a port; the same counts 9e10 |

Latencies are those of NCCL's small messages in a ring: 0.6 us over NVLink, 1 us over PCIe, 2.7 us from host to host. A
message over a switch takes two links, so each has the half. ICI counts 1 us for each hop, and TCP 10 us more than other
networks; both are estimates.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from simulator.machines.fabric import Fabric
from simulator.machines.topology import Cluster, DeviceKind, Links

GIBIBYTE = 2**30

V100 = DeviceKind("V100", 32e9, 125e12, 900e9)
A100 = DeviceKind("A100", 80e9, 312e12, 2.039e12)
H100 = DeviceKind("H100", 80e9, 989e12, 3.35e12)
H200 = DeviceKind("H200", 141e9, 989e12, 4.8e12)
B200 = DeviceKind("B200", 180e9, 2.25e15, 8e12)
MI300X = DeviceKind("MI300X", 192e9, 1307e12, 5.3e12)
TPU_V4 = DeviceKind("TPU v4", 32 * GIBIBYTE, 275e12, 1.228e12)
TPU_V5E = DeviceKind("TPU v5e", 16 * GIBIBYTE, 197e12, 819e9)
TPU_V5P = DeviceKind("TPU v5p", 95 * GIBIBYTE, 459e12, 2.765e12)

_NVLINK_SECONDS = 0.6e-6 / 2
_PCIE_SECONDS = 1e-6 / 2
_NETWORK_SECONDS = (2.7e-6 - 0.6e-6) / 2
_TCP_SECONDS = (2.7e-6 - 1e-6 + 10e-6) / 2
_HOP_SECONDS = 1e-6

_NETWORK_SHARE = 0.96
_PCIE_SHARE = 0.86
_TCP_SHARE = 1448 / 1538

_GIGABIT = 1e9 / 8
_PCIE_COUNTED = {4: 24e9, 5: 48e9}  # by NCCL, for 16 lanes (src/graph/topo.cc)

# What collective libraries go by: the speed of all links of a device, as NCCL and RCCL count it (src/graph/topo.h of both).
_VOLTA = Fabric("volta", "nvlink", 6 * 20.0e9, link_bytes_per_second=20.0e9)
_AMPERE = Fabric("ampere", "nvlink", 12 * 20.0e9, processor="amd")
_HOPPER = Fabric("hopper", "nvlink", 18 * 20.6e9, adds_in_switch=True)
_BLACKWELL = Fabric("blackwell", "nvlink", 18 * 40.1e9, adds_in_switch=True)
_CDNA = Fabric("cdna", "xgmi", 7 * 48.0e9, processor="amd")
_PCIE_WIRE = {4: 16 * 16e9 / 8 * 128 / 130, 5: 16 * 32e9 / 8 * 128 / 130}


def dgx_a100(hosts: int = 1, *, network_gigabits: int = 200) -> Cluster:
    """Boxes of eight A100 SXM of 80 GB on NVLink 3, joined by eight networks of 200 Gb/s.

    >>> dgx_a100(hosts=2)
    <Cluster DGX A100 of 16 devices>
    """
    return _dgx("DGX A100", A100, hosts, 300e9, network_gigabits, _AMPERE)


def dgx_h100(hosts: int = 1, *, network_gigabits: int = 400) -> Cluster:
    """Boxes of eight H100 SXM on NVLink 4, joined by eight networks of 400 Gb/s."""
    return _dgx("DGX H100", H100, hosts, 450e9, network_gigabits, _HOPPER)


def dgx_h200(hosts: int = 1, *, network_gigabits: int = 400) -> Cluster:
    """Boxes of eight H200 SXM on NVLink 4, joined by eight networks of 400 Gb/s."""
    return _dgx("DGX H200", H200, hosts, 450e9, network_gigabits, _HOPPER)


def dgx_b200(hosts: int = 1, *, network_gigabits: int = 400) -> Cluster:
    """Boxes of eight B200 on NVLink 5, joined by eight networks of 400 Gb/s."""
    return _dgx("DGX B200", B200, hosts, 900e9, network_gigabits, _BLACKWELL)


def dgx_v100(hosts: int = 1, *, network_gigabits: int = 100) -> Cluster:
    """Boxes of eight V100 SXM, joined one by one by six links of NVLink 2 each, with four networks of 100 Gb/s."""
    return _dgx("DGX V100", V100, hosts, 150e9, network_gigabits, _VOLTA, adapters=4)


def aws_p4d(hosts: int = 1) -> Cluster:
    """Hosts of eight A100 of 40 GB with four EFA networks of 100 Gb/s."""
    fabric = dataclasses.replace(_AMPERE, processor="intel", adapter_latency_seconds=75e-6)
    return _dgx("AWS p4d", dataclasses.replace(A100, memory_bytes=40e9), hosts, 300e9, 100, fabric, adapters=4)


def aws_p5(hosts: int = 1) -> Cluster:
    """Hosts of eight H100 with four EFA networks of 100 Gb/s for each device, which the plugin of the library joins to one."""
    fabric = dataclasses.replace(_HOPPER, processor="amd", adapter_latency_seconds=75e-6)
    return _dgx("AWS p5", H100, hosts, 450e9, 400, fabric)


def aws_p5en(hosts: int = 1) -> Cluster:
    """Hosts of eight H200 with two EFA networks of 200 Gb/s for each device, likewise."""
    fabric = dataclasses.replace(_HOPPER, adapter_latency_seconds=35e-6)
    return _dgx("AWS p5en", H200, hosts, 450e9, 400, fabric)


def mi300x(hosts: int = 1, *, network_gigabits: int = 400) -> Cluster:
    """Boxes of eight MI300X, each joined to each other one by xGMI, and eight networks of 400 Gb/s."""
    return _dgx("MI300X", MI300X, hosts, 7 * 64e9, network_gigabits, _CDNA)


def pcie_box(devices: int, *, generation: int = 4, kind: DeviceKind | None = None) -> Cluster:
    """One host whose devices have 16 lanes of PCIe each, to one switch.

    >>> pcie_box(4, generation=5)
    <Cluster PCIe box of 4 devices>
    """
    _require_count("pcie_box", "devices", devices)
    _require_choice("pcie_box", "generation", generation, _PCIE_WIRE)
    wire = _PCIE_WIRE[generation]
    cluster = Cluster.star(devices, _PCIE_SHARE * wire, _PCIE_SECONDS, kind)
    fabric = Fabric("ampere", "pcie", _PCIE_COUNTED[generation], processor="amd")
    return _named(cluster, "PCIe box", [wire, wire], fabric)


def ethernet(hosts: int, devices_per_host: int, gigabits: float, *, kind: DeviceKind | None = None) -> Cluster:
    """Hosts with devices on PCIe 4, that talk TCP over one Ethernet of so many gigabits per second each.

    >>> ethernet(hosts=4, devices_per_host=2, gigabits=25)
    <Cluster Ethernet of 8 devices>
    """
    _require_count("ethernet", "hosts", hosts)
    _require_count("ethernet", "devices_per_host", devices_per_host)
    if isinstance(gigabits, bool) or not isinstance(gigabits, (int, float)) or not 0 < gigabits < math.inf:
        raise ValueError(
            f"ethernet() got gigabits={gigabits!r}; expected a number above 0. Give the gigabits per second of a host, such as 25."
        )
    inside, outside = _PCIE_WIRE[4], gigabits * _GIGABIT
    cluster = Cluster.hosts(
        hosts, devices_per_host, _PCIE_SHARE * inside, _PCIE_SECONDS, _TCP_SHARE * outside, _TCP_SECONDS, kind
    )
    fabric = Fabric("ampere", "pcie", _PCIE_COUNTED[4], adapters=1, adapter_bytes_per_second=outside)
    return _named(cluster, "Ethernet", [inside, inside, outside, outside], fabric)


def tpu_v4(shape: Sequence[int]) -> Cluster:
    """A slice of a TPU v4 pod: a torus of up to 4,096 chips in three dimensions.

    Every dimension wraps around here; in real slices those that are no multiple of 4 do not.

    >>> tpu_v4((4, 4, 4))
    <Cluster TPU v4 of 64 devices>
    """
    return _tpu("tpu_v4", TPU_V4, shape, dimensions=3, most=4096, wire=50e9, bandwidth=45e9)


def tpu_v5e(shape: Sequence[int]) -> Cluster:
    """A slice of a TPU v5e pod: a torus of up to 256 chips in two dimensions.

    Every dimension wraps around here; in real slices those of less than 16 do not.
    """
    return _tpu("tpu_v5e", TPU_V5E, shape, dimensions=2, most=256, wire=50e9, bandwidth=45e9)


def tpu_v5p(shape: Sequence[int]) -> Cluster:
    """A slice of a TPU v5p pod: a torus of up to 8,960 chips in three dimensions, which wraps around as that of v4."""
    return _tpu("tpu_v5p", TPU_V5P, shape, dimensions=3, most=8960, wire=100e9, bandwidth=90e9)


def _dgx(
    name: str, kind: DeviceKind, hosts: int, wire: float, gigabits: int, fabric: Fabric, adapters: int = 8
) -> Cluster:
    function = name.lower().replace(" ", "_")
    _require_count(function, "hosts", hosts)
    _require_choice(function, "network_gigabits", gigabits, (100, 200, 400))
    bandwidth = fabric.device_bytes_per_second
    fabric = dataclasses.replace(fabric, adapters=adapters, adapter_bytes_per_second=gigabits * _GIGABIT)
    if hosts == 1:
        return _named(Cluster.star(8, bandwidth, _NVLINK_SECONDS, kind), name, [wire, wire], fabric)
    # A cluster of hosts has one link out of each, so it stands for all adapters together.
    network = adapters * gigabits * _GIGABIT
    cluster = Cluster.hosts(hosts, 8, bandwidth, _NVLINK_SECONDS, _NETWORK_SHARE * network, _NETWORK_SECONDS, kind)
    return _named(cluster, name, [wire, wire, network, network], fabric)


def _tpu(
    function: str, kind: DeviceKind, shape: Sequence[int], *, dimensions: int, most: int, wire: float, bandwidth: float
) -> Cluster:
    sizes: tuple[Any, ...] = tuple(shape) if isinstance(shape, Sequence) else (shape,)
    example = (4,) * dimensions
    if len(sizes) != dimensions or not all(_is_count(size) for size in sizes):
        raise ValueError(
            f"{function}() got shape={shape!r}; expected {dimensions} ints of at least 1. "
            f"Give the chips along each dimension of the torus, such as {example}."
        )
    if math.prod(sizes) > most:
        raise ValueError(
            f"{function}() got shape={shape!r}, which is {math.prod(sizes):,} chips; expected at most the {most:,} of a pod. "
            f"Use a smaller slice, or Cluster.torus() for a machine that does not exist."
        )
    cluster = Cluster.torus(sizes, bandwidth, _HOP_SECONDS, kind)
    return _named(cluster, kind.name, [wire] * len(cluster.links))


def _named(cluster: Cluster, name: str, wires: Sequence[float], fabric: Fabric | None = None) -> Cluster:
    links: list[Links] = [
        dataclasses.replace(link, wire_bytes_per_second=wire) for link, wire in zip(cluster.links, wires, strict=True)
    ]
    return dataclasses.replace(cluster, name=name, links=tuple(links), fabric=fabric)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _require_count(function: str, what: str, value: Any) -> None:
    if not _is_count(value):
        raise ValueError(
            f"{function}() got {what}={value!r}; expected an int of at least 1. Give the number that there is."
        )


def _require_choice(function: str, what: str, value: Any, choices: Any) -> None:
    if isinstance(value, bool) or value not in choices:
        *others, last = choices
        raise ValueError(
            f"{function}() got {what}={value!r}; expected {', '.join(map(str, others))} or {last}. "
            f"Use one of these, or make your own cluster with Cluster.hosts() or Cluster.star()."
        )
