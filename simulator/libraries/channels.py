"""Which channels a collective library lays over the links of a machine: how many, and how fast each is."""

import dataclasses

from simulator.libraries.library import Library
from simulator.machines.fabric import GIGA, Shape


@dataclasses.dataclass(frozen=True)
class Wiring:
    """Channels and their speeds in 1e9 bytes per second, inside of hosts and between them."""

    channels: int
    inside: float
    outside: float

    @property
    def total(self) -> float:
        """What all channels carry together inside of a host."""
        return self.channels * self.inside


def ring(library: Library, shape: Shape) -> Wiring:
    """The channels of rings: as many as the links have room for, at the best of the speeds that the library tries."""
    fabric, most = shape.fabric, library.channels // 2
    device = fabric.device_bytes_per_second / GIGA
    if shape.hosts == 1:
        narrowest = fabric.link_bytes_per_second / GIGA or device
        speeds = [speed for speed in library.inside_speeds[_generation(library, shape)] if speed <= narrowest]
        channels, speed = _widest([(min(int(device / speed + 1e-9), most), speed) for speed in speeds], narrowest)
        if _halves(fabric.generation, speed) and 2 * channels <= most:
            channels, speed = 2 * channels, speed / 2
        return Wiring(channels, speed, speed)
    adapter = fabric.adapter_bytes_per_second / GIGA
    size = shape.host_size
    # A ring that enters and leaves by different devices does not cross the link between these.
    room = device * (size / (size - 1) if size > 1 and library.crosses_adapters else 1.0)
    room = room if size > 1 else adapter * fabric.adapters
    found: list[tuple[int, float]] = []
    for speed in library.outside_speeds[_generation(library, shape)]:
        count = min(fabric.adapters * int(adapter / speed + 1e-9), most, int(room / speed + 1e-9))
        found.append((count, speed))
    channels, speed = _widest(found, min(adapter * max(fabric.adapters, 1), room))
    if _halves(fabric.generation, speed) and 2 * channels <= most:
        channels, speed = 2 * channels, speed / 2
    return Wiring(channels, speed, speed)


def tree(library: Library, shape: Shape) -> Wiring:
    """The channels of trees: those of rings, which may be faster inside of a host, where they are chains."""
    around = ring(library, shape)
    if shape.hosts == 1 or shape.host_size == 1:
        return around
    device, size = shape.fabric.device_bytes_per_second / GIGA, shape.host_size
    room = device * size / ((size - 1) * around.channels)
    raised = [
        speed
        for speed in library.outside_speeds[_generation(library, shape)]
        if around.inside <= speed <= min(room, 2 * around.outside)
    ]
    return dataclasses.replace(around, inside=max(raised, default=around.inside))


def _generation(library: Library, shape: Shape) -> str:
    generation = shape.fabric.generation
    return generation if generation in library.inside_speeds else "ampere"


def _widest(found: list[tuple[int, float]], all_of_it: float) -> tuple[int, float]:
    """The channels with the most bandwidth together, the fastest among equal ones; one channel where none fits."""
    best = max(found, key=lambda one: one[0] * one[1], default=(0, 0.0))
    return best if best[0] > 0 else (1, all_of_it)


def _halves(generation: str, speed: float) -> bool:
    """Whether the library makes two channels of one, because one kernel cannot use so fast a channel."""
    return speed >= 50 or (speed >= 25 and generation in ("volta", "ampere"))
