# pyright: basic, reportCallIssue=false, reportPrivateImportUsage=false
"""The event loop over messages: numba loops over plain arrays.

A message waits until both of its devices have come to the round in which they exchange it, then for its latency; from
then on it flows, and messages that share a link share its bandwidth fairly (max-min), each by the weight of its route. A
device goes on to its next round when all messages of the present one have arrived. Times are float64 seconds; events of
one time are taken together, so that their order in memory does not matter.
"""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from simulator.loops.traffic import Near, Own, Progress, RouteTable, Sent, Slots, Users

_TIE = 1.0 + 1e-12  # shares of bandwidth that differ by less are taken as equal


def _part(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a part of the loop, which Python never calls and which allocates nothing."""
    # It compiles sooner without wrappers; counting references to arrays would take seven times as long.
    return numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False)(function)


@numba.njit(cache=True)
def play(
    source: Any,  # of each message; see Sent
    target: Any,
    size: Any,
    route: Any,
    own: Any,  # of each device; see Own
    own_round: Any,
    own_start: Any,
    repeat: Any,  # of each round: how often it happens
    route_start: Any,  # of each route; see RouteTable
    route_links: Any,
    latency: Any,
    weight: Any,
    bandwidth: Any,  # of each link, in bytes per second
    begin: Any,  # when each device is ready
    most: int,  # how many messages can be under way at once
    first: Any,  # out: when each message was sent; empty where nobody asks, as another type would be compiled anew
    last: Any,  # out: when it had arrived
) -> Any:
    """When each device is done, how many messages arrived, and how many never will."""
    # Plain arrays come in, because numba cannot read its cache once the class of a tuple has been renamed.
    sent, routes = Sent(source, target, size, route), RouteTable(route_start, route_links, latency, weight)
    return _play(sent, Own(own, own_round, own_start, repeat), routes, bandwidth, begin, most, first, last)


@numba.njit
def _play(sent: Any, own: Any, routes: Any, bandwidth: Any, begin: Any, most: int, first: Any, last: Any) -> Any:
    devices = begin.size
    progress, slots, users, near = _nothing_yet(sent, own, routes, bandwidth, begin, most)
    order = np.argsort(begin, kind="mergesort")  # devices come in the order of their readiness
    cursor = events = comers = touches = arrivals = turn = 0
    while True:
        now = slots.due[slots.heap[0]] if events > 0 else np.inf
        if cursor < devices:
            now = min(now, begin[order[cursor]])
        if not now < np.inf:
            break  # nothing is left, or what is left takes longer than a float can hold
        turn += 1
        while cursor < devices and begin[order[cursor]] == now:
            if progress.at[order[cursor]] < own.start[order[cursor] + 1]:
                progress.coming[comers] = order[cursor]
                comers += 1
            cursor += 1
        # Everything that happens now: arrivals, ends of latencies, and the rounds that these let begin.
        while True:
            while events > 0 and slots.due[slots.heap[0]] == now:
                slot = slots.heap[0]
                message = slots.message[slot]
                if slots.flowing[slot]:
                    events = _remove(slots, events)
                    touches = _leave(users, slot, sent.route[message], routes, touches)
                    comers = _arrive(progress, own, sent, message, now, comers)
                    arrivals += 1
                    if last.size > 0:
                        last[message] = now
                else:
                    touches = _join(users, slot, sent.route[message], routes, touches)
                    _flow(slots, slot, now, routes.start, sent.route[message], events)
            if comers == 0:
                break
            for index in range(comers):
                events = _enter(progress, own, sent, routes.latency, slots, progress.coming[index], now, events, first)
            comers = 0
        for index in range(touches):
            link = users.touched[index]
            users.is_touched[link] = False
            if near.seen_link[link] != turn:
                near_links, near_slots = _find_near(near, users, slots, sent, routes, link, turn)
                _share(near, users, slots, sent, routes, near_links, near_slots)
                _change_rates(near, slots, near_slots, now, events)
        touches = 0
    return progress.done, arrivals, events


@numba.njit
def _nothing_yet(sent: Any, own: Any, routes: Any, bandwidth: Any, begin: Any, most: int) -> Any:
    """Everything as it is before the first message."""
    devices, links = begin.size, bandwidth.size
    hops = 1
    for route in range(routes.latency.size):
        hops = max(hops, routes.start[route + 1] - routes.start[route])
    pending, coming, met = np.zeros(devices, np.int64), np.empty(devices, np.int64), np.zeros(sent.size.size, np.int8)
    progress = Progress(begin.copy(), own.start[:-1].copy(), np.zeros(devices, np.int64), pending, coming, met)
    left, rate, since, due = np.zeros(most), np.zeros(most), np.zeros(most), np.zeros(most)
    message, heap, place = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    slots = Slots(message, np.zeros(most, np.bool_), left, rate, since, due, heap, place, np.arange(most - 1, -1, -1))
    head, after, ahead = np.full(links, -1), np.full(most * hops, -1), np.full(most * hops, -1)
    users = Users(hops, head, after, ahead, np.empty(links, np.int64), np.zeros(links, np.bool_))
    near_links, near_slots = np.empty(links, np.int64), np.empty(most, np.int64)
    seen_link, seen_slot = np.zeros(links, np.int64), np.zeros(most, np.bool_)
    spare, count, load = np.empty(links), np.empty(links, np.int64), np.empty(links)
    near = Near(near_links, near_slots, seen_link, seen_slot, bandwidth, spare, count, load, np.empty(most))
    return progress, slots, users, near


@_part
def _enter(
    progress: Any, own: Any, sent: Any, latency: Any, slots: Any, device: int, now: float, events: int, first: Any
) -> int:
    """Let a device enter its next round; what its partners wait for is sent."""
    at = progress.at[device]
    number = own.round[at]
    while at < own.start[device + 1] and own.round[at] == number:
        message = own.message[at]
        progress.pending[device] += 1
        progress.met[message] += 1
        if progress.met[message] == 2:
            progress.met[message] = 0  # until the round happens again
            slot = slots.free[slots.free.size - events - 1]
            slots.message[slot] = message
            slots.left[slot] = sent.size[message]
            slots.due[slot] = now + latency[sent.route[message]]
            slots.heap[events] = slot
            _rise(slots.heap, slots.place, slots.due, events)
            events += 1
            if first.size > 0:
                first[message] = now
        at += 1
    progress.times[device] += 1
    if progress.times[device] == own.repeat[number]:
        progress.at[device], progress.times[device] = at, 0
    return events


@_part
def _arrive(progress: Any, own: Any, sent: Any, message: int, now: float, comers: int) -> int:
    """Let both devices of a message know that it has arrived, and come to their next round where it was the last."""
    for device in (sent.source[message], sent.target[message]):
        progress.pending[device] -= 1
        if progress.pending[device] == 0:
            progress.done[device] = now
            if progress.at[device] < own.start[device + 1]:
                progress.coming[comers] = device
                comers += 1
    return comers


@_part
def _flow(slots: Any, slot: int, now: float, start: Any, route: int, events: int) -> None:
    """Let the first message of the heap flow, as soon as it gets a rate."""
    slots.flowing[slot] = True
    slots.since[slot] = now
    slots.rate[slot] = 0.0
    # Where there is nothing to carry, or nothing to carry it over, it has arrived.
    if start[route + 1] == start[route] or slots.left[slot] <= 0.0:
        slots.left[slot] = 0.0
    else:
        slots.due[slot] = np.inf
        _sink(slots.heap, slots.place, slots.due, 0, events)


@_part
def _remove(slots: Any, events: int) -> int:
    """Take the first message out of the heap, and free its slot."""
    slot = slots.heap[0]
    slots.flowing[slot] = False
    slots.free[slots.free.size - events] = slot
    events -= 1
    slots.heap[0] = slots.heap[events]
    slots.place[slots.heap[0]] = 0
    if events > 0:
        _sink(slots.heap, slots.place, slots.due, 0, events)
    return events


@_part
def _join(users: Any, slot: int, route: int, routes: Any, touches: int) -> int:
    """Let a message use the links of its route."""
    start = routes.start[route]
    for hop in range(routes.start[route + 1] - start):
        link = routes.links[start + hop]
        node = slot * users.hops + hop
        users.after[node] = users.head[link]
        users.ahead[node] = -1
        if users.head[link] >= 0:
            users.ahead[users.head[link]] = node
        users.head[link] = node
        touches = _touch(users, link, touches)
    return touches


@_part
def _leave(users: Any, slot: int, route: int, routes: Any, touches: int) -> int:
    """Let a message use its links no more."""
    start = routes.start[route]
    for hop in range(routes.start[route + 1] - start):
        link = routes.links[start + hop]
        node = slot * users.hops + hop
        before, after = users.ahead[node], users.after[node]
        if before >= 0:
            users.after[before] = after
        else:
            users.head[link] = after
        if after >= 0:
            users.ahead[after] = before
        touches = _touch(users, link, touches)
    return touches


@_part
def _touch(users: Any, link: int, touches: int) -> int:
    if users.is_touched[link]:
        return touches
    users.is_touched[link] = True
    users.touched[touches] = link
    return touches + 1


@_part
def _find_near(near: Any, users: Any, slots: Any, sent: Any, routes: Any, link: int, turn: int) -> Any:
    """Find all messages that share links with those of a link, however indirectly, and say how many links and messages."""
    links, found, at = _look_at(near, link, 0, turn), 0, 0
    while at < links:
        node = users.head[near.links[at]]
        while node >= 0:
            slot = node // users.hops
            if not near.seen_slot[slot]:
                near.seen_slot[slot] = True
                near.rate[slot] = -1.0
                near.slots[found] = slot
                found += 1
                route = sent.route[slots.message[slot]]
                for hop in range(routes.start[route], routes.start[route + 1]):
                    other = routes.links[hop]
                    if near.seen_link[other] != turn:
                        links = _look_at(near, other, links, turn)
                    near.users[other] += 1
                    near.load[other] += routes.weight[route]
            node = users.after[node]
        at += 1
    return links, found


@_part
def _look_at(near: Any, link: int, links: int, turn: int) -> int:
    near.seen_link[link] = turn
    near.links[links] = link
    near.spare[link] = near.bandwidth[link]
    near.users[link] = 0
    near.load[link] = 0.0
    return links + 1


@_part
def _share(near: Any, users: Any, slots: Any, sent: Any, routes: Any, links: int, todo: int) -> None:
    """Give the messages of the link that has least for each what it has, then those of the next, and so on."""
    while todo > 0:
        share, still = np.inf, 0
        for index in range(links):
            link = near.links[index]
            if near.users[link] > 0:
                share = min(share, near.spare[link] / near.load[link])
                near.links[still] = link
                still += 1
        links = still
        limit = share * _TIE
        for index in range(links):
            link = near.links[index]
            if near.users[link] == 0 or near.spare[link] / near.load[link] > limit:
                continue
            node = users.head[link]
            while node >= 0:
                slot = node // users.hops
                if near.rate[slot] < 0.0:
                    route = sent.route[slots.message[slot]]
                    weight = routes.weight[route]
                    near.rate[slot] = share * weight
                    todo -= 1
                    for hop in range(routes.start[route], routes.start[route + 1]):
                        other = routes.links[hop]
                        near.spare[other] = max(near.spare[other] - share * weight, 0.0)
                        near.users[other] -= 1
                        near.load[other] -= weight
                node = users.after[node]


@_part
def _change_rates(near: Any, slots: Any, found: int, now: float, events: int) -> None:
    """Let messages flow at their new rates from now on."""
    for index in range(found):
        slot = near.slots[index]
        near.seen_slot[slot] = False
        rate = near.rate[slot]
        if slots.left[slot] > 0.0 and rate != slots.rate[slot]:
            slots.left[slot] = max(slots.left[slot] - slots.rate[slot] * (now - slots.since[slot]), 0.0)
            slots.since[slot] = now
            slots.rate[slot] = rate
            slots.due[slot] = now + slots.left[slot] / rate if rate > 0.0 else np.inf
            _rise(slots.heap, slots.place, slots.due, slots.place[slot])
            _sink(slots.heap, slots.place, slots.due, slots.place[slot], events)


@_part
def _before(times: Any, a: Any, b: Any) -> bool:
    return times[a] < times[b] or (times[a] == times[b] and a < b)


@_part
def _rise(heap: Any, place: Any, times: Any, at: Any) -> None:
    """Move a slot whose time is earlier than before to where it belongs."""
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


@_part
def _sink(heap: Any, place: Any, times: Any, at: Any, count: int) -> None:
    """Move a slot whose time is later than before to where it belongs."""
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


@numba.njit(cache=True)
def by_device(source: Any, target: Any, number: Any, devices: int) -> Any:
    """Say which messages each device has, in the order in which they are given, and how many can be under way at once.

    The first are three arrays: messages, their rounds, and where those of each device begin.
    """
    start = np.zeros(devices + 1, np.int64)
    for k in range(source.size):
        start[source[k] + 1] += 1
        start[target[k] + 1] += 1
    for d in range(devices):
        start[d + 1] += start[d]
    at = start[:-1].copy()
    own = np.empty(2 * source.size, np.int32)
    rounds = np.empty(2 * source.size, np.int32)
    for k in range(source.size):
        own[at[source[k]]] = k
        rounds[at[source[k]]] = number[k]
        at[source[k]] += 1
        own[at[target[k]]] = k
        rounds[at[target[k]]] = number[k]
        at[target[k]] += 1
    most = 0
    for d in range(devices):
        width, largest = 0, 0
        for i in range(start[d], start[d + 1]):
            width = width + 1 if i > start[d] and rounds[i] == rounds[i - 1] else 1
            largest = max(largest, width)
        most += largest
    return own, rounds, start, most
