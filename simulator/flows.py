"""The event loop over messages: numba loops over plain arrays.

A message waits until both of its devices have come to the step in which they exchange it, then for its latency; from
then on it flows, and messages that share a link share its bandwidth fairly (max-min), each by the weight of its route. A
device goes on to its next step when all messages of the present one have arrived. Times are float64 seconds; events of
one time are taken together, so that their order in memory does not matter.
"""

from typing import Any

import numba  # pyright: ignore[reportMissingTypeStubs]
import numpy as np

_TIE = 1.0 + 1e-12  # shares of bandwidth that differ by less are taken as equal


@numba.njit(cache=True)  # pyright: ignore
def _before(times: Any, a: Any, b: Any) -> bool:
    return times[a] < times[b] or (times[a] == times[b] and a < b)


@numba.njit(cache=True)  # pyright: ignore
def _rise(heap: Any, place: Any, times: Any, at: Any) -> None:
    slot = heap[at]
    while at > 0:
        parent = (at - 1) >> 1
        if not _before(times, slot, heap[parent]):
            break
        heap[at] = heap[parent]
        place[heap[at]] = at
        at = parent
    heap[at] = slot
    place[slot] = at


@numba.njit(cache=True)  # pyright: ignore
def _sink(heap: Any, place: Any, times: Any, at: Any, count: int) -> None:
    slot = heap[at]
    while True:
        child = 2 * at + 1
        if child >= count:
            break
        if child + 1 < count and _before(times, heap[child + 1], heap[child]):
            child += 1
        if not _before(times, heap[child], slot):
            break
        heap[at] = heap[child]
        place[heap[at]] = at
        at = child
    heap[at] = slot
    place[slot] = at


@numba.njit(cache=True)  # pyright: ignore
def play(
    source: Any,  # of each message: the device that sends it,
    target: Any,  # the device that gets it,
    size: Any,  # its bytes,
    pair: Any,  # and which route it takes
    own: Any,  # the messages of each device, sent or received, in the order of its steps
    own_step: Any,  # the step of the device in which it does so
    own_start: Any,  # where the messages of a device begin
    route_start: Any,  # where the links of a route begin
    route_links: Any,
    latency: Any,  # of each route, in seconds
    weight: Any,  # of each route: how much of a shared link it gets, compared with others
    bandwidth: Any,  # of each link, in bytes per second
    begin: Any,  # when each device is ready
    most: int,  # how many messages can be under way at once
    first: Any,  # out: when each message was sent, of size 0 where nobody asks
    last: Any,  # out: when it had arrived
) -> Any:
    devices, links = begin.size, bandwidth.size
    hops = 1
    for r in range(latency.size):
        hops = max(hops, route_start[r + 1] - route_start[r])
    recorded = first.size > 0
    carried = np.zeros(links)
    done = begin.copy()
    ready = np.zeros(source.size, np.int8)  # how many of its two devices have come
    pointer = own_start[:-1].copy()
    pending = np.zeros(devices, np.int64)

    # A message under way has a slot.
    message = np.empty(most, np.int64)
    flowing = np.zeros(most, np.bool_)
    left = np.zeros(most)  # bytes still to come
    rate = np.zeros(most)
    since = np.zeros(most)  # when `left` was true
    due = np.zeros(most)  # its next event
    free = np.arange(most - 1, -1, -1)
    frees = most
    heap = np.empty(most, np.int64)
    place = np.empty(most, np.int64)
    events = 0

    # Of each link, the messages that flow through it: a doubly linked list of nodes, `hops` for each slot.
    head = np.full(links, -1)
    after = np.full(most * hops, -1)
    ahead = np.full(most * hops, -1)

    touched = np.empty(links, np.int64)  # links whose messages have changed
    is_touched = np.zeros(links, np.bool_)
    touches = 0
    seen_link = np.zeros(links, np.int64)
    seen_slot = np.zeros(most, np.bool_)
    near_links = np.empty(links, np.int64)
    near_slots = np.empty(most, np.int64)
    spare = np.empty(links)
    users = np.empty(links, np.int64)
    load = np.empty(links)  # the weights of the users together
    fresh = np.empty(most)  # new rates

    coming = np.empty(devices, np.int64)  # devices that enter a step
    comers = 0
    arrivals = 0
    # Devices come in the order of their readiness.
    order = np.argsort(begin, kind="mergesort")
    cursor = 0
    turn = 0  # counts the times at which something happens, to know which links were looked at in each

    while True:
        upcoming = np.inf
        if events > 0:
            upcoming = due[heap[0]]
        while cursor < devices and pointer[order[cursor]] >= own_start[order[cursor] + 1]:
            cursor += 1
        if cursor < devices and begin[order[cursor]] <= upcoming:
            upcoming = begin[order[cursor]]
        if upcoming == np.inf:
            break
        now = upcoming
        turn += 1
        while cursor < devices and begin[order[cursor]] == now:
            if pointer[order[cursor]] < own_start[order[cursor] + 1]:
                coming[comers] = order[cursor]
                comers += 1
            cursor += 1

        while True:
            # Everything that happens now: arrivals, ends of latencies, and the steps that these let begin.
            while events > 0 and due[heap[0]] == now:
                slot = heap[0]
                k = message[slot]
                r = pair[k]
                if not flowing[slot]:
                    flowing[slot] = True
                    since[slot] = now
                    rate[slot] = 0.0
                    due[slot] = np.inf
                    _sink(heap, place, due, 0, events)
                    for hop in range(route_start[r + 1] - route_start[r]):
                        link = route_links[route_start[r] + hop]
                        node = slot * hops + hop
                        after[node] = head[link]
                        ahead[node] = -1
                        if head[link] >= 0:
                            ahead[head[link]] = node
                        head[link] = node
                        carried[link] += size[k]
                        if not is_touched[link]:
                            is_touched[link] = True
                            touched[touches] = link
                            touches += 1
                    if route_start[r + 1] == route_start[r] or left[slot] <= 0.0:
                        # Nothing to carry, or nothing to carry it over: it has arrived.
                        due[slot] = now
                        left[slot] = 0.0
                        _rise(heap, place, due, place[slot])
                    continue
                # It has arrived.
                events -= 1
                heap[0] = heap[events]
                place[heap[0]] = 0
                if events > 0:
                    _sink(heap, place, due, 0, events)
                flowing[slot] = False
                for hop in range(route_start[r + 1] - route_start[r]):
                    link = route_links[route_start[r] + hop]
                    node = slot * hops + hop
                    if ahead[node] >= 0:
                        after[ahead[node]] = after[node]
                    else:
                        head[link] = after[node]
                    if after[node] >= 0:
                        ahead[after[node]] = ahead[node]
                    if not is_touched[link]:
                        is_touched[link] = True
                        touched[touches] = link
                        touches += 1
                free[frees] = slot
                frees += 1
                arrivals += 1
                if recorded:
                    last[k] = now
                for side in range(2):
                    d = source[k] if side == 0 else target[k]
                    pending[d] -= 1
                    if pending[d] == 0:
                        done[d] = now
                        if pointer[d] < own_start[d + 1]:
                            coming[comers] = d
                            comers += 1
            if comers == 0:
                break
            for index in range(comers):
                d = coming[index]
                at = pointer[d]
                step = own_step[at]
                while at < own_start[d + 1] and own_step[at] == step:
                    k = own[at]
                    pending[d] += 1
                    ready[k] += 1
                    if ready[k] == 2:
                        frees -= 1
                        slot = free[frees]
                        message[slot] = k
                        left[slot] = size[k]
                        due[slot] = now + latency[pair[k]]
                        heap[events] = slot
                        place[slot] = events
                        events += 1
                        _rise(heap, place, due, events - 1)
                        if recorded:
                            first[k] = now
                    at += 1
                pointer[d] = at
            comers = 0

        # New rates for all messages that share links with the changed ones, however indirectly.
        for index in range(touches):
            is_touched[touched[index]] = False
            if seen_link[touched[index]] == turn:
                continue
            links_near, slots_near = 1, 0
            near_links[0] = touched[index]
            seen_link[touched[index]] = turn
            spare[touched[index]], users[touched[index]], load[touched[index]] = bandwidth[touched[index]], 0, 0.0
            at = 0
            while at < links_near:
                node = head[near_links[at]]
                while node >= 0:
                    slot = node // hops
                    if not seen_slot[slot]:
                        seen_slot[slot] = True
                        near_slots[slots_near] = slot
                        slots_near += 1
                        r = pair[message[slot]]
                        for hop in range(route_start[r], route_start[r + 1]):
                            link = route_links[hop]
                            if seen_link[link] != turn:
                                seen_link[link] = turn
                                near_links[links_near] = link
                                links_near += 1
                                spare[link], users[link], load[link] = bandwidth[link], 0, 0.0
                            users[link] += 1
                            load[link] += weight[r]
                    node = after[node]
                at += 1
            for i in range(slots_near):
                fresh[near_slots[i]] = -1.0
            todo = slots_near
            while todo > 0:
                share = np.inf
                for i in range(links_near):
                    link = near_links[i]
                    if users[link] > 0:
                        share = min(share, spare[link] / load[link])
                limit = share * _TIE
                for i in range(links_near):
                    link = near_links[i]
                    if users[link] == 0 or spare[link] / load[link] > limit:
                        continue
                    node = head[link]
                    while node >= 0:
                        slot = node // hops
                        if fresh[slot] < 0.0:
                            todo -= 1
                            r = pair[message[slot]]
                            fresh[slot] = share * weight[r]
                            for hop in range(route_start[r], route_start[r + 1]):
                                other = route_links[hop]
                                spare[other] = max(spare[other] - fresh[slot], 0.0)
                                users[other] -= 1
                                load[other] -= weight[r]
                        node = after[node]
            for i in range(slots_near):
                slot = near_slots[i]
                seen_slot[slot] = False
                if left[slot] > 0.0 and fresh[slot] != rate[slot]:
                    left[slot] = max(left[slot] - rate[slot] * (now - since[slot]), 0.0)
                    since[slot] = now
                    rate[slot] = fresh[slot]
                    due[slot] = now + left[slot] / fresh[slot]
                    _rise(heap, place, due, place[slot])
                    _sink(heap, place, due, place[slot], events)
        touches = 0
    return done, carried, arrivals


@numba.njit(cache=True)  # pyright: ignore
def by_device(source: Any, target: Any, step: Any, devices: int) -> Any:
    """The messages of each device in the order in which they are given: which, in which step, and where they begin."""
    start = np.zeros(devices + 1, np.int64)
    for k in range(source.size):
        start[source[k] + 1] += 1
        start[target[k] + 1] += 1
    for d in range(devices):
        start[d + 1] += start[d]
    at = start[:-1].copy()
    own = np.empty(2 * source.size, np.int64)
    steps = np.empty(2 * source.size, np.int32)
    for k in range(source.size):
        own[at[source[k]]] = k
        steps[at[source[k]]] = step[k]
        at[source[k]] += 1
        own[at[target[k]]] = k
        steps[at[target[k]]] = step[k]
        at[target[k]] += 1
    most = 0
    for d in range(devices):
        width, largest = 0, 0
        for i in range(start[d], start[d + 1]):
            width = width + 1 if i > start[d] and steps[i] == steps[i - 1] else 1
            largest = max(largest, width)
        most += largest
    return own, steps, start, most
