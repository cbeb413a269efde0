"""Which links messages take through networks of several kinds. Nothing is kept: a route is found when it is asked for."""

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from simulator.base.limits import MOST_LINKS, TooLarge
from simulator.loops.compiled import compiled

Array = np.ndarray[Any, Any]


class Routes(NamedTuple):
    """Several routes, one after the other, as the numbers of their links."""

    start: Array  # where each route begins, and where the last one ends
    links: Array

    @property
    def hops(self) -> Array:
        """How many links each route has."""
        return np.diff(self.start)

    @property
    def route(self) -> Array:
        """Of each link, which route it belongs to."""
        return np.repeat(np.arange(self.start.size - 1), self.hops)

    def narrowed(self, bandwidth: Array) -> "Routes":
        """The routes without links that never hold a message up, because all their messages also take a link no wider.

        Only the links just before and just after each one are looked at, so a line of links becomes its narrowest ones.
        """
        narrow, before = self, -1
        while narrow.links.size != before:
            before = narrow.links.size
            for offset in (1, -1):
                narrow = narrow._kept(~narrow._implied(offset, bandwidth)[narrow.links])
        return narrow

    def _implied(self, offset: int, bandwidth: Array) -> Array:
        """Say of each link whether the link at an offset along the route is always the same one, and no wider."""
        at = np.arange(self.links.size) + offset
        inside = (at >= 0) & (at < self.links.size)
        inside[inside] = self.route[at[inside]] == self.route[inside]
        beside = np.full(self.links.size, -1)
        beside[inside] = self.links[at[inside]]
        least, greatest = np.full(bandwidth.size, bandwidth.size), np.full(bandwidth.size, -1)
        np.minimum.at(least, self.links, beside)
        np.maximum.at(greatest, self.links, beside)
        same = (least == greatest) & (least >= 0)
        same[same] = bandwidth[least[same]] <= bandwidth[same]
        return same

    def _kept(self, which: Array) -> "Routes":
        return Routes(_starts(np.bincount(self.route[which], minlength=self.hops.size)), self.links[which])


class Routing(Protocol):
    """Says which links messages take."""

    def routes(self, source: Array, target: Array) -> Routes:
        """The links from each source to its target."""
        ...


@dataclasses.dataclass(frozen=True)
class Star:
    """Up the sender's own link and down the receiver's, and over a shared link if there is one."""

    devices: int
    shared: int = -1

    def routes(self, source: Array, target: Array) -> Routes:
        return _of_columns(source, self.devices + target, np.full_like(source, self.shared))


@dataclasses.dataclass(frozen=True)
class FatTree:
    """Through the leaf, or up to the spine that the target's number says, and down again."""

    leaves: int
    devices_per_leaf: int
    up_links: int

    def routes(self, source: Array, target: Array) -> Routes:
        devices = self.leaves * self.devices_per_leaf
        from_leaf, to_leaf = source // self.devices_per_leaf, target // self.devices_per_leaf
        spine = target % self.up_links
        first = 2 * devices
        up = first + from_leaf * self.up_links + spine
        down = first + self.leaves * self.up_links + to_leaf * self.up_links + spine
        stays = from_leaf == to_leaf
        return _of_columns(source, np.where(stays, -1, up), np.where(stays, -1, down), devices + target)


@dataclasses.dataclass(frozen=True)
class Hosts:
    """Through the host's own switch, or out of the one host and into the other."""

    hosts: int
    devices_per_host: int

    def routes(self, source: Array, target: Array) -> Routes:
        devices = self.hosts * self.devices_per_host
        out, into = source // self.devices_per_host, target // self.devices_per_host
        stays = out == into
        leaving = np.where(stays, -1, 2 * devices + out)
        entering = np.where(stays, -1, 2 * devices + self.hosts + into)
        return _of_columns(source, leaving, entering, devices + target)


@dataclasses.dataclass(frozen=True)
class Torus:
    """One dimension after the other, the last first, the shorter way around, as in SimGrid's own torus.

    Where both ways around are equally long, a message goes forward, except that it goes back from the middle.
    """

    shape: tuple[int, ...]

    def routes(self, source: Array, target: Array) -> Routes:
        sizes = np.array(self.shape[::-1])
        strides = np.concatenate([[1], np.cumprod(sizes[:-1])])
        # Of each pair of devices and dimension, the last dimension first: the places along it, and how far and which way to go.
        here, there = (np.asarray(place)[:, None] // strides % sizes for place in (source, target))
        ahead = (there - here) % sizes
        forward = np.where(here == sizes // 2, 2 * ahead < sizes, 2 * ahead <= sizes)
        hops = np.where(forward, ahead, sizes - ahead)
        start = _starts(hops.sum(axis=1))
        # In the dimensions that it has taken a message is at its end, and in the others still at its beginning.
        moved = np.cumsum((there - here) * strides, axis=1)
        begin = np.asarray(source)[:, None] + np.concatenate([np.zeros_like(moved[:, :1]), moved[:, :-1]], axis=1)
        leg = np.repeat(np.arange(hops.size), hops.ravel())
        hop = np.arange(leg.size) - _starts(hops.ravel())[:-1][leg]
        place, size, stride, on = (
            part.ravel()[leg]
            for part in (here, *(np.broadcast_to(one, hops.shape) for one in (sizes, strides)), forward)
        )
        number = begin.ravel()[leg] + ((place + np.where(on, hop, -hop)) % size - place) * stride
        dimension = len(self.shape) - 1 - leg % len(self.shape)
        return Routes(start, math.prod(self.shape) * (2 * dimension + np.where(on, 0, 1)) + number)


@dataclasses.dataclass(frozen=True)
class Explicit:
    """The route with the smallest latency through any network, and among equals the one with the fewest links."""

    devices: tuple[str, ...]
    ends: tuple[tuple[int, int, float], ...]  # for each pair of links, one each way: the two nodes, and the latency
    names: tuple[str, ...]

    @classmethod
    def of(cls, devices: tuple[str, ...], links: Sequence[tuple[str, str, float, float]]) -> "Explicit":
        """The network of these links."""
        names = tuple(dict.fromkeys([*devices, *(end for first, second, *_ in links for end in (first, second))]))
        number = {name: index for index, name in enumerate(names)}
        ends = tuple((number[first], number[second], float(latency)) for first, second, _, latency in links)
        return cls(devices, ends, names)

    def require_connected(self) -> None:
        """Refuse devices that others cannot reach; links go both ways, so it is enough to look from one device."""
        near: list[list[int]] = [[] for _ in self.names]
        for first, second, _ in self.ends:
            near[first].append(second)
            near[second].append(first)
        reached, todo = {0}, [0]
        while todo and self.names:
            new = [node for node in near[todo.pop()] if node not in reached]
            reached.update(new)
            todo += new
        lost = [name for number, name in enumerate(self.devices) if number not in reached]
        if lost:
            raise ValueError(
                f"The device {lost[0]!r} cannot be reached from {self.devices[0]!r}; expected links that lead there. "
                f"Add one between them, or to a switch that both have."
            )

    def routes(self, source: Array, target: Array) -> Routes:
        order = np.argsort(source, kind="stable")  # one search finds all routes that leave a device
        pairs = (np.asarray(end, np.int64)[order] for end in (source, target))
        start, links = _search().routes(*self._network, *pairs, MOST_LINKS)
        if start[-1] < 0:
            raise TooLarge(
                f"{source.size:,} routes between {len(self.devices):,} devices were asked for, through {len(self.ends):,} links; "
                f"expected routes of at most {MOST_LINKS:,} links in all. Use an algorithm whose messages go to neighbours, such "
                f"as 'ring', or fewer devices."
            )
        back = np.argsort(order)
        found = Routes(_starts(np.diff(start)[back]), links)
        return found._replace(links=links[np.arange(links.size) + (start[:-1][back] - found.start[:-1])[found.route]])

    @functools.cached_property
    def _network(self) -> tuple[Array, ...]:
        """The links that leave each node: where those of a node begin, their numbers, both ends, and latencies."""
        ends = np.array([(first, second) for first, second, _ in self.ends], np.int64).reshape(-1, 2)
        origin, goal = ends.ravel(), ends[:, ::-1].ravel()
        latency = np.repeat(np.array([one[2] for one in self.ends], float), 2)
        leaving = np.argsort(origin, kind="stable")
        return _starts(np.bincount(origin, minlength=len(self.names))), leaving, origin, goal, latency


def _of_columns(*columns: Array) -> Routes:
    """Routes whose first links are in the first column, and so on; -1 is no link."""
    table = np.stack(columns, axis=1)
    there = table >= 0
    return Routes(_starts(there.sum(axis=1)), table[there].astype(np.int64))


def _starts(counts: Array) -> Array:
    """Where each of several parts begins, and where the last ends, given how many elements each has."""
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


@functools.cache
def _search() -> Any:
    # Numba takes half a second to load, so it is loaded by the first message through a network of links.
    return compiled("search")
