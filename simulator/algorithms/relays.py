"""Rings on links that nobody shares: each device sends to the next one, again and again, and waits only for its neighbours.

A message then takes the same time whenever it is sent, so whole rounds are played at once. Devices whose messages, and whose
neighbours' messages all around the ring, are the same form a group and have the same times, so one is played for all of them.
"""

import functools
from typing import Any

import numpy as np

from simulator.algorithms.schedules import Schedule
from simulator.base.limits import MOST_RELAYS, TooLarge
from simulator.loops.compiled import compiled
from simulator.machines.topology import Cluster

Array = np.ndarray[Any, Any]


def relayed(
    cluster: Cluster, schedule: Schedule, payload_bytes: float, envelope_bytes: float, devices: Array, begin: Array
) -> tuple[Array, Array] | None:
    """Play rounds of a ring: when each device is done, and what each link carried; None where messages could share a link.

    The times are those of playing every message, bit for bit.
    """
    following = _following(schedule)
    if following is None:
        return None
    routes = cluster.routing.routes(devices, devices[following])
    if np.bincount(routes.links, minlength=1).max() > 1:
        return None
    latency, bandwidth = cluster.latency_of(routes), cluster.bandwidth()
    weight = cluster.weights(latency)
    share = np.full(weight.size, np.inf)
    np.minimum.at(share, routes.route, bandwidth[routes.links] / weight[routes.route])
    rate = share * weight
    before = np.argsort(following)
    turns = sum(one.repeat for one in schedule.rounds)
    group = _groups(_numbered(begin, latency, rate), following)
    chosen = np.unique(group, return_index=True)[1]  # one device of each group
    if chosen.size * turns > MOST_RELAYS:
        raise TooLarge(
            f"{schedule.name} between {schedule.devices:,} devices has {schedule.transfers:,} messages, and links or devices that "
            f"differ; expected at most {MOST_RELAYS:,} different messages. Use an algorithm of fewer messages, such as "
            f"'halving_doubling', or fewer devices."
        )
    ready, carried = begin[chosen], np.zeros(cluster.link_count)
    for one in schedule.rounds:
        size = schedule.message_bytes(one, payload_bytes, envelope_bytes)
        carried[routes.links] += size * one.repeat
        flowing = size / rate[chosen] if size > 0 else np.zeros(chosen.size)
        _relay_loop().relay(
            ready, group[following[chosen]], group[before[chosen]], latency[chosen], flowing, one.repeat
        )
    return ready[group], carried


def _following(schedule: Schedule) -> Array | None:
    """The device that each device sends to; None unless each sends to one and hears from one, the same in all rounds."""
    if not schedule.rounds:
        return None
    first, *others = schedule.rounds
    everybody = np.arange(schedule.devices)
    if not all(np.array_equal(np.sort(end), everybody) for end in (first.source, first.target)):
        return None
    same = (np.array_equal(one.source, first.source) and np.array_equal(one.target, first.target) for one in others)
    if first.joined or any(one.joined for one in others) or not all(same):
        return None
    return first.target[np.argsort(first.source)].astype(np.int64)


def _groups(kinds: Array, following: Array) -> Array:
    """Give the same number to devices that see the same kinds of devices follow, all around the ring.

    Devices that see the same ahead see the same behind too, because the ring closes.
    """
    reach = following
    while True:
        finer = _numbered(kinds, kinds[reach])  # twice as far ahead as before
        if finer.max() == kinds.max():
            return kinds  # looking further ahead tells no more devices apart
        kinds, reach = finer, reach[reach]


def _numbered(*columns: Array) -> Array:
    """Number the different rows of columns from 0 on."""
    rows = np.zeros(columns[0].size, np.int64)
    for column in columns:
        values = np.unique(column, return_inverse=True)[1]
        rows = np.unique(rows * (values.max() + 1) + values, return_inverse=True)[1]
    return rows


@functools.cache
def _relay_loop() -> Any:
    # Numba takes half a second to load, so it is loaded by the first ring.
    return compiled("relay_loop")
