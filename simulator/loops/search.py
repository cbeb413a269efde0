# pyright: basic, reportCallIssue=false, reportPrivateImportUsage=false
"""The numba loop that finds the quickest routes through a network of any links."""

from typing import Any

import numba
import numpy as np

_MOST_LOOKS = 20_000_000_000  # at links, after which a search is given up; that takes half a minute
_LOOKS_OF_A_NODE = 64  # take as long as choosing the next node


# It compiles sooner without wrappers, and without counting references to arrays.
_part = numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False)


@numba.njit(cache=True)
def routes(start: Any, leaving: Any, origin: Any, goal: Any, latency: Any, source: Any, target: Any, most: int) -> Any:
    """Where the links of each route begin, and these links, in the order of the pairs, whose sources are in order.

    Where there are more than so many links, or these take too long to find, the last number is -1.

    A route is the quickest, among these the shortest, and among these the first that was found: nodes are left in the order
    of seconds, links and numbers, and a route does not replace another one that is as good.
    """
    nodes = start.size - 1
    seen, asked = np.full(nodes, -1), np.full(nodes, -1)  # the last search in which a node was met, or asked for
    seconds, hops, by = np.empty(nodes), np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    heap, place = np.empty(nodes, np.int64), np.empty(nodes, np.int64)  # of the nodes that were met and not left yet
    begin, links = np.zeros(source.size + 1, np.int64), np.empty(4 * source.size + 64, np.int64)
    first, looks = 0, 0
    while first < source.size:
        end, missing = first, 0
        while end < source.size and source[end] == source[first]:
            missing += asked[target[end]] != first
            asked[target[end]] = first
            end += 1
        here = source[first]
        seen[here], seconds[here], hops[here] = first, 0.0, 0
        heap[0], count = here, 1
        while missing > 0:
            node, count = heap[0], count - 1
            if count > 0:
                heap[0] = heap[count]
                _sink(heap, place, seconds, hops, count)
            missing -= asked[node] == first
            looks += start[node + 1] - start[node] + _LOOKS_OF_A_NODE
            for at in range(start[node], start[node + 1]):
                link = leaving[at]
                other = goal[link]
                if start[other + 1] - start[other] == 1 and asked[other] != first:
                    continue  # a dead end that nobody asks for
                time, length = seconds[node] + latency[link], hops[node] + 1
                if seen[other] != first:
                    heap[count], place[other] = other, count
                    count += 1
                elif not (time < seconds[other] or (time == seconds[other] and length < hops[other])):
                    continue
                seen[other], by[other], seconds[other], hops[other] = first, link, time, length
                _rise(heap, place, seconds, hops, place[other])
        for pair in range(first, end):
            begin[pair + 1] = begin[pair] + hops[target[pair]]
        if begin[end] > most or looks > _MOST_LOOKS:
            begin[-1] = -1
            return begin, links
        if begin[end] > links.size:
            larger = np.empty(2 * begin[end], np.int64)
            larger[: begin[first]] = links[: begin[first]]
            links = larger
        for pair in range(first, end):
            node = target[pair]
            for at in range(begin[pair + 1] - 1, begin[pair] - 1, -1):
                links[at] = by[node]
                node = origin[by[node]]
        first = end
    return begin, links[: begin[-1]].copy()


@_part
def _before(seconds: Any, hops: Any, a: Any, b: Any) -> bool:
    if seconds[a] != seconds[b]:
        return seconds[a] < seconds[b]
    return hops[a] < hops[b] or (hops[a] == hops[b] and a < b)


@_part
def _rise(heap: Any, place: Any, seconds: Any, hops: Any, at: Any) -> None:
    """Move a node that is nearer than before to where it belongs."""
    node = heap[at]
    while at > 0 and _before(seconds, hops, node, heap[(at - 1) >> 1]):
        heap[at] = heap[(at - 1) >> 1]
        place[heap[at]] = at
        at = (at - 1) >> 1
    heap[at] = node
    place[node] = at


@_part
def _sink(heap: Any, place: Any, seconds: Any, hops: Any, count: Any) -> None:
    """Move the first node to where it belongs."""
    node, at = heap[0], 0
    while 2 * at + 1 < count:
        child = 2 * at + 1
        if child + 1 < count and _before(seconds, hops, heap[child + 1], heap[child]):
            child += 1
        if not _before(seconds, hops, heap[child], node):
            break
        heap[at] = heap[child]
        place[heap[at]] = at
        at = child
    heap[at] = node
    place[node] = at
