"""How long a collective of a library takes: the time of each algorithm and protocol, of which the library takes the least.

time = latency + bytes / bandwidth. The formulas are those by which NCCL itself chooses (src/graph/tuning.cc), with three changes.
Its correction of trees, a table with a number for each power of two, is a line from number to number here, and never lets more
bytes take less time. Where switches add, the bytes are those that their links carry. And a time is at least that of the launches.
What a library does with few bytes (src/enqueue.cc), to use fewer channels and threads, and with many, to cut them into chunks,
counts, too.
"""

import dataclasses
import math
from collections.abc import Iterator, Sequence

from simulator.libraries.channels import ring, tree
from simulator.libraries.library import PROTOCOLS, Launch, Library, Rows
from simulator.machines.fabric import GIGA, Shape

KINDS = ("all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "all_to_all", "send")
_MICRO = 1e-6


@dataclasses.dataclass(frozen=True)
class Way:
    """One way to do a collective: an algorithm with a protocol."""

    algorithm: str
    protocol: str
    latency_microseconds: float
    bandwidth: float  # bytes of the collective, 1e9 per second
    corrections: Sequence[float] = ()  # by the size, what is left of the bandwidth
    plateau_bytes: float = math.inf  # from here on, latencies are longer
    plateau: float = 1.0
    full_bytes: float = 0.0  # from here on, one channel has work for all its threads
    channel_seconds: float = 0.0  # in which one channel moves these
    chunks: "Chunks | None" = None

    def parts(self, size: float) -> tuple[float, float]:
        """The seconds of latencies, and of bytes."""
        latency = self.latency_microseconds * (self.plateau if size >= self.plateau_bytes else 1.0)
        seconds = corrected(size, self.corrections) / (self.bandwidth * GIGA)
        if size < self.full_bytes:
            seconds = max(seconds, self.channel_seconds * size / self.full_bytes)
        else:
            # A library takes another channel only when those before it are full, so that all of them take as long.
            seconds = max(seconds, self.channel_seconds)
        return latency * _MICRO, seconds + (self.chunks.seconds(size) if self.chunks is not None else 0.0)


@dataclasses.dataclass(frozen=True)
class Chunks:
    """What all channels carry in one go: the first chunk is on its way before the next stage has anything to do."""

    pieces: int  # into which the bytes are cut at least
    most_bytes: float  # of one chunk on all channels
    bandwidth: float  # of all channels together, 1e9 bytes per second
    steps: tuple[tuple[float, float], ...] = ()  # from so many bytes on, a chunk has so many at most

    def seconds(self, size: float) -> float:
        """How long the first chunk takes."""
        most = next((chunk for least, chunk in reversed(self.steps) if size >= least), self.most_bytes)
        return min(size / self.pieces, most) / (self.bandwidth * GIGA)


@dataclasses.dataclass(frozen=True)
class Estimate:
    """How long a collective takes, by which algorithm and protocol, and of what that consists."""

    algorithm: str
    protocol: str
    seconds: float
    parts: dict[str, float]  # launch (what exceeds the rest), latency, bytes
    ways: tuple[tuple[str, str, float], ...]  # all that the library could take, and their seconds


def estimate(
    library: Library, shape: Shape, kind: str, size: float, launch: Launch, algorithm: str | None = None
) -> Estimate:
    """Say how long a collective of so many bytes takes between all devices.

    The size is that of nccl-tests: what each device has of an all-reduce, and the whole of what is gathered,
    scattered or sent to all.

    Args:
        algorithm: the one to take; else the library chooses.
    """
    messages = 2 * shape.devices if kind == "all_to_all" else 0  # one to each device, and one from each
    one_start = library.launch_microseconds + messages * library.message_microseconds
    starts = launch.gpus_per_process * one_start * _MICRO
    starts = max(starts, library.floor_microseconds * _MICRO)
    if shape.devices == 1:
        return Estimate("none", "none", starts, {"launch": starts, "latency": 0.0, "bytes": 0.0}, ())
    found: list[tuple[float, Way, tuple[float, float]]] = []
    for way in ways(library, shape, kind):
        if algorithm not in (None, way.algorithm):
            continue
        if algorithm is not None or in_window(library, kind, way, size):
            latency, moving = way.parts(size)
            latency *= library.latency_scale
            moving /= library.bandwidth_scales[PROTOCOLS.index(way.protocol)]
            found.append((latency + moving, way, (latency, moving)))
    if not found:
        known = sorted({way.algorithm for way in ways(library, shape, kind)})
        raise ValueError(
            f"The algorithm is {algorithm!r}; expected one that {library.name} has for {kind} on these devices: {', '.join(known)}"
            f". Use one of these, or leave it to the library."
        )
    seconds, way, (latency, moving) = min(found, key=lambda one: one[0])
    parts = {"launch": max(starts - seconds, 0.0), "latency": latency, "bytes": moving}
    others = tuple((one.algorithm, one.protocol, time) for time, one, _ in found)
    return Estimate(way.algorithm, way.protocol, max(seconds, starts), parts, others)


def carried_bytes(kind: str, algorithm: str, shape: Shape, size: float) -> tuple[float, float]:
    """What the link of each device carries one way, and that of each host."""
    count, local, hosts = shape.devices, shape.host_size, shape.hosts
    others, elsewhere = (count - 1) / count, (hosts - 1) / hosts
    if kind == "all_to_all":
        return size * others, size * local * elsewhere
    if kind in ("send", "broadcast", "reduce"):
        return size, size if hosts > 1 else 0.0
    if kind != "all_reduce":
        return size * others, size * others if hosts > 1 else 0.0
    inside = {"nvls": 1 + 1 / local, "nvls_tree": 1 + 1 / local, "tree": 2.0}.get(algorithm, 2 * others)
    return size * inside, size * 2 * (elsewhere if algorithm != "ring" else others) if hosts > 1 else 0.0


def ways(library: Library, shape: Shape, kind: str) -> Iterator[Way]:
    """All ways in which a library does a collective on a machine."""
    if kind in ("all_to_all", "send"):
        yield from _between_pairs(library, shape, kind)
        return
    yield from _rings(library, shape, kind)
    if kind == "all_reduce":
        yield from _trees(library, shape)
    fabric = shape.fabric
    if library.nvls and fabric.adds_in_switch and shape.host_size > 2 and kind not in ("broadcast", "reduce"):
        yield from _in_switches(library, shape, kind)
    if fabric.adds_in_network and shape.hosts > 1 and kind == "all_reduce":
        yield _in_network(library, shape)


def corrected(size: float, corrections: Sequence[float]) -> float:
    """The bytes that take as long as so many with corrections: numbers for 64 bytes, 128, and so on, with lines between them.

    >>> corrected(96.0, (1.0, 0.5)), corrected(128.0, (1.0, 0.5)), corrected(1e6, ())
    (135.68545010139334, 256.0, 1000000.0)
    """
    if not corrections or size <= 0:
        return size
    place = math.log2(size / 64)
    if place <= 0:
        return size / corrections[0]
    before = min(int(place), len(corrections) - 1)
    after = min(before + 1, len(corrections) - 1)
    share = corrections[before] + (corrections[after] - corrections[before]) * min(place - before, 1.0)
    # Fewer bytes never take longer.
    return max(size / share, *(64.0 * 2.0**index / corrections[index] for index in range(before + 1)))


def _rings(library: Library, shape: Shape, kind: str) -> Iterator[Way]:
    wires, count, hosts = ring(library, shape), shape.devices, shape.hosts
    steps = {"all_reduce": 2 * (count - 1), "broadcast": count, "reduce": count}.get(kind, count - 1)
    for index, protocol in _protocols(library, shape):
        total = wires.total * _share(library, shape, "ring", index, library.ring_shares[index])
        if not library.ratios:
            if protocol == "LL":
                total = min(total, _low_latency_limit(library, shape))
            elif protocol == "LL128":
                total = min(total, wires.channels * _limit(library.ring_channel_limits, shape))
        latency = library.base_microseconds["ring"][index] + _ring_hops(library, shape, kind, steps, index)
        late = hosts > 1 and protocol == "Simple" and kind == "all_reduce" and not library.ratios
        yield Way(
            "ring",
            protocol,
            latency,
            total * count / steps,
            library.ring_corrections[index] if library.ring_corrections and hosts > 1 else (),
            64.0 * 2 * wires.channels * count if late else math.inf,
            library.plateau.get(shape.fabric.generation, 1.0),
            *_one_channel(library, shape, index, count, count / steps),
            Chunks(count, 2 * wires.channels * library.chunk_bytes[index], total),
        )


def _ring_hops(library: Library, shape: Shape, kind: str, steps: int, index: int) -> float:
    """The microseconds of all steps around a ring, of which some lead from host to host."""
    inside, outside = _hop(library, shape, "ring", index), _network_hop(library, shape, "ring", index)
    hosts = shape.hosts
    if kind in ("broadcast", "reduce"):
        # Pieces follow each other closely, so that one hop counts; between hosts, channels take different ways.
        return inside if hosts == 1 else shape.devices * (outside if shape.host_size == 1 else inside) + outside
    if hosts == 1:
        return steps * inside
    turns = 2 if kind == "all_reduce" else 1
    between = min(turns * (hosts if library.ring_returns and kind == "all_reduce" else hosts - 1), steps)
    overhead = library.network_overhead_microseconds[shape.fabric.processor] * (
        3 if PROTOCOLS[index] == "Simple" else 1
    )
    return (steps - between) * max(inside, overhead) + between * outside


def _trees(library: Library, shape: Shape) -> Iterator[Way]:
    wires, hosts = tree(library, shape), shape.hosts
    shares = library.tree_shares if hosts == 1 else library.tree_shares_between_hosts
    alone = shape.fabric.generation in ("hopper", "blackwell") and hosts > 1
    for index, protocol in _protocols(library, shape):
        total = wires.channels * (wires.inside if hosts <= 2 else wires.outside)
        total *= _share(library, shape, "tree", index, shares[index])
        if not library.ratios:
            whole = wires.channels * _limit(library.tree_channel_limits, shape)
            total = min(total, whole * shares[index] / shares[2])
            if protocol == "LL":
                total = min(total, _low_latency_limit(library, shape))
            elif protocol == "LL128":
                total = min(total, wires.channels * _limit(library.tree_ll128_channel_limits, shape))
            total *= library.shared_tree_share if alone else 1.0
        hops = (shape.host_size - 1) * _hop(library, shape, "tree", index)
        hops += math.floor(math.log2(hosts)) * _network_hop(library, shape, "tree", index)
        latency = library.base_microseconds["tree"][index] + 2 * hops
        work = _one_channel(library, shape, index, 1, 0.5)
        yield Way("tree", protocol, latency, total / 2, library.tree_corrections[index], math.inf, 1.0, *work)


def _one_channel(library: Library, shape: Shape, index: int, ranks: int, ratio: float) -> tuple[float, float]:
    """With how many bytes one channel is busy with all its threads, and for how long; that matters for LL alone.

    Args:
        ratio: of the bytes of the collective to those that go over links.
    """
    if library.ratios or PROTOCOLS[index] != "LL":
        return 0.0, 0.0  # ratios were measured, and have it in them
    threads, least = library.threads, 96
    size = threads * library.thread_bytes * ranks
    speed = _low_latency_limit(library, shape) / library.usual_channels * ratio
    return size * least / threads, size / (speed * GIGA)


def _in_switches(library: Library, shape: Shape, kind: str) -> Iterator[Way]:
    """Where the switch of a host adds, a link carries what its device has once, and its part of the sum once more."""
    fabric, size, hosts = shape.fabric, shape.host_size, shape.hosts
    share = library.switch_shares.get(fabric.generation, 0.0)
    inside = share * fabric.device_bytes_per_second / GIGA * size / (size + 1)
    if kind != "all_reduce":
        inside = share * fabric.device_bytes_per_second / GIGA
    hop = _hop(library, shape, "nvls", 2)
    if inside == 0:
        return
    if hosts == 1:
        yield Way(
            "nvls", "Simple", hop, inside, chunks=_switch_chunks(library, shape, library.switch_chunk_bytes, inside)
        )
    elif kind == "all_reduce":
        wires, count = ring(library, shape), shape.devices
        channel = wires.outside * (2 if hosts <= 2 else 1)
        limit = _limit(library.nvls_tree_channel_limits, shape)
        bus = shape.host_size * min(inside * 2 * (size - 1) / size / size, channel * wires.channels / size, limit)
        latency = hop + 2 * math.floor(math.log2(hosts)) * _network_hop(library, shape, "nvls_tree", 2)
        speed = bus * count / (2 * (count - 1))
        stages = 2 * math.floor(math.log2(hosts))  # over the network, up and down the tree
        chunks = _switch_chunks(library, shape, library.switch_tree_chunk_bytes, speed / stages)
        yield Way("nvls_tree", "Simple", latency, speed, chunks=chunks)


def _switch_chunks(library: Library, shape: Shape, sizes: Sequence[tuple[float, float]], bandwidth: float) -> Chunks:
    """Chunks are larger for more bytes, so that all channels have several of them."""
    everywhere = library.switch_channels[shape.fabric.generation] * shape.host_size
    steps = [(times * everywhere * chunk, everywhere * chunk) for times, chunk in sizes[1:]]
    return Chunks(1, everywhere * sizes[0][1], bandwidth, tuple(steps))


def _in_network(library: Library, shape: Shape) -> Way:
    """The switches of the network add what comes from each host."""
    wires, size = ring(library, shape), shape.host_size
    crowd = size / wires.channels
    total = wires.total / (crowd - (crowd - 1) / 2) * (0.85 if shape.fabric.generation != "ampere" else 1.0)
    hops = min(1, size - 1) * _hop(library, shape, "collnet", 2) + (size - 1) * 0.4
    return Way("collnet", "Simple", 2 * hops + _network_hop(library, shape, "collnet", 2), total / 2)


def _between_pairs(library: Library, shape: Shape, kind: str) -> Iterator[Way]:
    """Messages from device to device: one of all bytes, or a piece for each of the others, all at once."""
    fabric, count, size = shape.fabric, shape.devices, shape.host_size
    device = fabric.device_bytes_per_second / GIGA
    wires = ring(library, shape)
    out = fabric.adapters * fabric.adapter_bytes_per_second / GIGA
    out = min(out, wires.channels * wires.outside) if shape.hosts > 1 else math.inf
    for index, protocol in _protocols(library, shape):
        if protocol == "LL128":
            continue
        share = library.ring_shares[index]
        one_way = min(device, wires.total) * share
        latency = library.base_microseconds["ring"][index]
        if kind == "send":
            between = shape.hosts > 1
            speed = min(one_way, out / size * share) if between else one_way
            hop = _network_hop(library, shape, "ring", index) if between else _hop(library, shape, "ring", index)
            yield Way("send", protocol, latency + hop, speed)
            continue
        inside_part, outside_part = (size - 1) / count, (count - size) / count
        slowest = max(inside_part / one_way, outside_part * size / (out * share))
        hops = (size - 1) * _hop(library, shape, "ring", index)
        hops += (count - size) * _network_hop(library, shape, "ring", index) if shape.hosts > 1 else 0.0
        yield Way("pairs", protocol, latency + hops / 2, 1.0 / slowest)


def _protocols(library: Library, shape: Shape) -> Iterator[tuple[int, str]]:
    fabric = shape.fabric
    wide = fabric.inside != "pcie" and (bool(library.ratios) or fabric.generation in library.low_latency_generations)
    for index, protocol in enumerate(PROTOCOLS):
        if protocol != "LL128" or wide:
            yield index, protocol


def in_window(library: Library, kind: str, way: Way, size: float) -> bool:
    """Whether a library takes a way for so many bytes, where it goes by these."""
    least, most = library.byte_windows.get(kind, {}).get(way.protocol, (0.0, math.inf))
    return least <= size <= most


def _share(library: Library, shape: Shape, algorithm: str, index: int, share: float) -> float:
    return library.ratios[algorithm][0 if shape.hosts <= 2 else 1][index] if library.ratios else share


def _limit(rows: Rows, shape: Shape) -> float:
    """What a table has for the devices, and for so many hosts."""
    row = rows.get(shape.fabric.generation) or rows["ampere"]
    return row[min(shape.hosts, 3) - 1]


def _low_latency_limit(library: Library, shape: Shape) -> float:
    if shape.hosts == 1:
        return _limit(library.low_latency_limits, shape)
    return library.low_latency_limits_between_hosts[shape.fabric.processor][min(shape.hosts, 3) - 1]


def _hop(library: Library, shape: Shape, algorithm: str, index: int) -> float:
    """From one device to the next: what the library says, or what the cluster's own links say, if that is more."""
    return max(library.hop_microseconds[shape.fabric.inside][algorithm][index], shape.inside_microseconds)


def _network_hop(library: Library, shape: Shape, algorithm: str, index: int) -> float:
    if shape.hosts == 1:
        return 0.0
    added = shape.fabric.adapter_latency_seconds / _MICRO * (2 if PROTOCOLS[index] == "Simple" else 1)
    said = library.hop_microseconds["network"][algorithm][index]
    return max(said + added, shape.outside_microseconds)
