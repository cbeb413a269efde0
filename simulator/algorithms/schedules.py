"""Collective algorithms as data: pure functions that return who sends which chunks to whom, round by round."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from simulator.base.limits import MOST_MESSAGES, TooLarge

Array = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True, eq=False)
class Round:
    """Messages that are exchanged at once; a device goes on when all of its own have arrived.

    In the next repetition every message carries the chunks `shift` further on, around the end.
    """

    source: Array
    target: Array
    chunk: Array  # the first chunk of each message
    width: int = 1  # how many chunks each carries
    adds: bool = False  # whether the target adds what it gets to what it has; else it replaces it
    repeat: int = 1
    shift: int = 0
    joined: bool = False  # whether it happens at the same time as the round before


@dataclasses.dataclass(frozen=True, eq=False)
class Schedule:
    """A collective over a number of devices, each with data cut into a number of chunks."""

    name: str
    devices: int
    chunks: int
    rounds: tuple[Round, ...]

    @property
    def transfers(self) -> int:
        """How many messages there are in all."""
        return sum(one.source.size * one.repeat for one in self.rounds)

    def message_bytes(self, one: Round, payload_bytes: float, envelope_bytes: float) -> float:
        """What each message of a round carries: its share of the bytes that every device has, and an envelope around it."""
        return payload_bytes * one.width / self.chunks + envelope_bytes

    def unrolled(self) -> tuple[Round, ...]:
        """The rounds one by one, each repeated as often as it happens."""
        return tuple(dataclasses.replace(one, repeat=1) for one in self.rounds for _ in range(one.repeat))


def ring(devices: int) -> Schedule:
    """Chunks go around and are added up, then go around again."""
    if devices == 1:
        return Schedule("ring", 1, 1, ())
    here = np.arange(devices, dtype=np.int32)
    following = ((here + 1) % devices).astype(np.int32)
    collect = Round(here, following, here.copy(), adds=True, repeat=devices - 1, shift=-1)
    spread = Round(here, following, ((here + 1) % devices).astype(np.int32), repeat=devices - 1, shift=-1)
    return Schedule("ring", devices, devices, (collect, spread))


def recursive_doubling(devices: int) -> Schedule:
    """Partners at distances 1, 2, 4 and so on exchange everything and add it."""
    core, before, after = _power_of_two(devices, 1)
    here = np.arange(core.size, dtype=np.int32)
    rounds = [
        Round(core, core[here ^ distance], np.zeros_like(core), adds=True)
        for distance in (1 << level for level in range((core.size - 1).bit_length()))
    ]
    return Schedule("recursive_doubling", devices, 1, (*before, *rounds, *after))


def halving_doubling(devices: int) -> Schedule:
    """Neighbours exchange halves, those at distance 2 quarters and so on, and add them; then back the same way."""
    power = 1 << (devices.bit_length() - 1)
    core, before, after = _power_of_two(devices, power)
    here = np.arange(power, dtype=np.int32)
    adding: list[Round] = []
    copying: list[Round] = []
    start, width, distance = np.zeros_like(here), power, 1  # the chunks that a device still works on
    while width > 1:
        width //= 2
        upper = (here & distance) > 0
        theirs, mine = start + np.where(upper, 0, width), start + np.where(upper, width, 0)
        partner = core[here ^ distance]
        adding.append(Round(core, partner, theirs.astype(np.int32), width, adds=True))
        copying.append(Round(core, partner, mine.astype(np.int32), width))
        start, distance = mine.astype(np.int32), 2 * distance
    return Schedule("halving_doubling", devices, power, (*before, *adding, *reversed(copying), *after))


def halving_linear(devices: int) -> Schedule:
    """The farthest exchange halves first, then quarters and so on; then every device sends its part to all others at once."""
    power = 1 << (devices.bit_length() - 1)
    if power * power > MOST_MESSAGES:
        raise TooLarge(
            f"halving_linear was asked of {devices:,} devices, of which {power:,} send to each other at once; expected at most "
            f"{MOST_MESSAGES:,} messages. Use 'halving_doubling'."
        )
    core, before, after = _power_of_two(devices, power)
    here = np.arange(power, dtype=np.int32)
    rounds: list[Round] = []
    distance = power // 2
    while distance:
        theirs = here // (2 * distance) * (2 * distance) + np.where(here & distance, 0, distance)
        rounds.append(Round(core, core[here ^ distance], theirs.astype(np.int32), distance, adds=True))
        distance //= 2
    there, chunk = np.divmod(np.arange(power * power, dtype=np.int32), power)
    apart = chunk != there
    gather = Round(core[chunk[apart]], core[there[apart]], chunk[apart])
    return Schedule("halving_linear", devices, power, (*before, *rounds, *([gather] if power > 1 else []), *after))


def reduce_broadcast(devices: int) -> Schedule:
    """All send to the first device, which adds; then a tree of copies, doubling in each round."""
    if devices == 1:
        return Schedule("reduce_broadcast", 1, 1, ())
    others = np.arange(1, devices, dtype=np.int32)
    rounds = [Round(others, np.zeros_like(others), np.zeros_like(others), adds=True)]
    reach = 1 << (devices - 1).bit_length()
    while reach > 1:
        half = reach // 2
        source = np.arange(0, devices - half, reach, dtype=np.int32)
        rounds.append(Round(source, source + np.int32(half), np.zeros_like(source)))
        reach = half
    return Schedule("reduce_broadcast", devices, 1, tuple(rounds))


def hierarchical(devices: int, host_size: int) -> Schedule:
    """Add up inside each host, then between the hosts, each device for its own part, then spread inside."""
    if devices % host_size or host_size == devices:
        return dataclasses.replace(ring(devices), name="hierarchical")
    hosts = devices // host_size
    if host_size == 1:
        return dataclasses.replace(halving_doubling(devices), name="hierarchical")
    between = halving_doubling(hosts)
    parts = between.chunks
    number = np.arange(devices, dtype=np.int32)
    place = number % host_size
    following = (number - place + (place + 1) % host_size).astype(np.int32)
    collect = Round(number, following, place * parts, parts, adds=True, repeat=host_size - 1, shift=-parts)
    kept = (place + 1) % host_size  # the chunk that a device has whole after that
    rounds: list[Round] = []
    for one in between.rounds:
        source = (one.source[:, None] * host_size + np.arange(host_size)).ravel().astype(np.int32)
        target = (one.target[:, None] * host_size + np.arange(host_size)).ravel().astype(np.int32)
        chunk = (kept[:host_size][None, :] * parts + one.chunk[:, None]).ravel().astype(np.int32)
        rounds.append(Round(source, target, chunk, one.width, one.adds))
    spread = Round(number, following, kept * parts, parts, repeat=host_size - 1, shift=-parts)
    return Schedule("hierarchical", devices, host_size * parts, (collect, *rounds, spread))


def double_tree(devices: int, pieces: int = 8) -> Schedule:
    """Two trees with exchanged leaves and forks, each for one half of the data, which flows through them piece by piece."""
    if devices == 1:
        return Schedule("double_tree", 1, 1, ())
    tree, last = _tree(devices), devices - 1
    edges = [tree, [(last - child, last - parent, depth) for child, parent, depth in tree]]
    deepest = max(depth for _, _, depth in tree)
    slots: dict[tuple[int, bool], list[tuple[int, int, int]]] = {}
    for half, edge in enumerate(edges):
        for child, parent, depth in edge:
            for piece in range(pieces):
                chunk = half * pieces + piece
                slots.setdefault((piece + deepest - depth, True), []).append((child, parent, chunk))
                slots.setdefault((piece + deepest + depth - 1, False), []).append((parent, child, chunk))
    # What is added and what is spread at one time are two rounds of different pieces.
    ordered = sorted(slots.items(), key=lambda item: (item[0][0], not item[0][1]))
    columns = [(np.array(messages, np.int32).T, adds) for (_, adds), messages in ordered]
    times = [time for (time, _), _ in ordered]
    rounds = [
        Round(source, target, chunk, adds=adds, joined=place > 0 and times[place] == times[place - 1])
        for place, ((source, target, chunk), adds) in enumerate(columns)
    ]
    return Schedule("double_tree", devices, 2 * pieces, tuple(rounds))


@functools.lru_cache(64)
def reduce_scatter(devices: int) -> Schedule:
    """The first half of a ring: each device ends with one part of the sum."""
    return _half(ring(devices), "reduce_scatter", adds=True)


@functools.lru_cache(64)
def all_gather(devices: int) -> Schedule:
    """The second half of a ring: the part that each device has goes around to all."""
    return _half(ring(devices), "all_gather", adds=False)


@functools.lru_cache(64)
def all_to_one(devices: int) -> Schedule:
    """All send to the first device, which adds."""
    return _half(reduce_broadcast(devices), "all_to_one", adds=True)


@functools.lru_cache(64)
def broadcast(devices: int) -> Schedule:
    """A tree of copies from the first device, doubling in each round."""
    return _half(reduce_broadcast(devices), "broadcast", adds=False)


def _half(schedule: Schedule, name: str, *, adds: bool) -> Schedule:
    return dataclasses.replace(schedule, name=name, rounds=tuple(one for one in schedule.rounds if one.adds is adds))


ALGORITHMS: dict[str, Callable[[int, int], Schedule]] = {
    "ring": lambda devices, host_size: ring(devices),
    "recursive_doubling": lambda devices, host_size: recursive_doubling(devices),
    "halving_doubling": lambda devices, host_size: halving_doubling(devices),
    "halving_linear": lambda devices, host_size: halving_linear(devices),
    "reduce_broadcast": lambda devices, host_size: reduce_broadcast(devices),
    "double_tree": lambda devices, host_size: double_tree(devices),
    "hierarchical": hierarchical,
}


@functools.lru_cache(64)
def schedule_of(algorithm: str, devices: int, host_size: int) -> Schedule:
    """The schedule of an algorithm, the same one each time."""
    return ALGORITHMS[algorithm](devices, host_size)


def point_to_point() -> Schedule:
    """One device sends all it has to another one."""
    first = np.zeros(1, np.int32)
    return Schedule("copy", 2, 1, (Round(first, first + np.int32(1), first),))


def _power_of_two(devices: int, chunks: int) -> tuple[Array, tuple[Round, ...], tuple[Round, ...]]:
    """A power of two of the devices; any other gives what it has to a neighbour first, and gets the result from it at the end."""
    power = 1 << (devices.bit_length() - 1)
    beyond = devices - power
    everyone = np.arange(devices, dtype=np.int32)
    if not beyond:
        return everyone, (), ()
    giving, taking = everyone[: 2 * beyond : 2], everyone[1 : 2 * beyond : 2]
    core = np.concatenate([taking, everyone[2 * beyond :]])
    start = np.zeros_like(giving)
    return core, (Round(giving, taking, start, chunks, adds=True),), (Round(taking, giving, start, chunks),)


def _tree(devices: int) -> list[tuple[int, int, int]]:
    """Child, parent and depth of the child in a balanced tree in which every second device is a leaf."""
    edges: list[tuple[int, int, int]] = []

    def grow(low: int, high: int, parent: int, depth: int) -> None:
        if low >= high:
            return
        middle = (low + high) // 2
        if parent >= 0:
            edges.append((middle, parent, depth))
        grow(low, middle, middle, depth + 1)
        grow(middle + 1, high, middle, depth + 1)

    grow(0, devices, -1, 0)
    return edges
