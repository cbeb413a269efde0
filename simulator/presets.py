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

from simulator.topology import Cluster, DeviceKind, Links

GIBIBYTE = 2**30

A100 = DeviceKind("A100", 80e9, 312e12, 2.039e12)
H100 = DeviceKind("H100", 80e9, 989e12, 3.35e12)
H200 = DeviceKind("H200", 141e9, 989e12, 4.8e12)
B200 = DeviceKind("B200", 180e9, 2.25e15, 8e12)
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
_PCIE_WIRE = {4: 16 * 16e9 / 8 * 128 / 130, 5: 16 * 32e9 / 8 * 128 / 130}


def dgx_a100(hosts: int = 1, *, network_gigabits: int = 200) -> Cluster:
    """Boxes of eight A100 SXM of 80 GB on NVLink 3, joined by eight networks of 200 Gb/s.

    >>> dgx_a100(hosts=2)
    <Cluster DGX A100 of 16 devices>
    """
    return _dgx("DGX A100", A100, hosts, 300e9, 12 * 20.0e9, network_gigabits)


def dgx_h100(hosts: int = 1, *, network_gigabits: int = 400) -> Cluster:
    """Boxes of eight H100 SXM on NVLink 4, joined by eight networks of 400 Gb/s."""
    return _dgx("DGX H100", H100, hosts, 450e9, 18 * 20.6e9, network_gigabits)


def dgx_h200(hosts: int = 1, *, network_gigabits: int = 400) -> Cluster:
    """Boxes of eight H200 SXM on NVLink 4, joined by eight networks of 400 Gb/s."""
    return _dgx("DGX H200", H200, hosts, 450e9, 18 * 20.6e9, network_gigabits)


def dgx_b200(hosts: int = 1, *, network_gigabits: int = 400) -> Cluster:
    """Boxes of eight B200 on NVLink 5, joined by eight networks of 400 Gb/s."""
    return _dgx("DGX B200", B200, hosts, 900e9, 18 * 40.1e9, network_gigabits)


def pcie_box(devices: int, *, generation: int = 4, kind: DeviceKind | None = None) -> Cluster:
    """One host whose devices have 16 lanes of PCIe each, to one switch.

    >>> pcie_box(4, generation=5)
    <Cluster PCIe box of 4 devices>
    """
    _require_count("pcie_box", "devices", devices)
    _require_choice("pcie_box", "generation", generation, _PCIE_WIRE)
    wire = _PCIE_WIRE[generation]
    cluster = Cluster.star(devices, _PCIE_SHARE * wire, _PCIE_SECONDS, kind)
    return _named(cluster, "PCIe box", [wire, wire])


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
    return _named(cluster, "Ethernet", [inside, inside, outside, outside])


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


def _dgx(name: str, kind: DeviceKind, hosts: int, wire: float, bandwidth: float, gigabits: int) -> Cluster:
    function = name.lower().replace(" ", "_")
    _require_count(function, "hosts", hosts)
    _require_choice(function, "network_gigabits", gigabits, (100, 200, 400))
    if hosts == 1:
        return _named(Cluster.star(8, bandwidth, _NVLINK_SECONDS, kind), name, [wire, wire])
    # A cluster of hosts has one link out of each, so it stands for the eight adapters together.
    network = 8 * gigabits * _GIGABIT
    cluster = Cluster.hosts(hosts, 8, bandwidth, _NVLINK_SECONDS, _NETWORK_SHARE * network, _NETWORK_SECONDS, kind)
    return _named(cluster, name, [wire, wire, network, network])


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


def _named(cluster: Cluster, name: str, wires: Sequence[float]) -> Cluster:
    links: list[Links] = [
        dataclasses.replace(link, wire_bytes_per_second=wire) for link, wire in zip(cluster.links, wires, strict=True)
    ]
    return dataclasses.replace(cluster, name=name, links=tuple(links))


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
