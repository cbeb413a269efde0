"""Routes are those of the plain definition, and only those that somebody asks for are found."""

import heapq
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as generators

from simulator import Cluster, predict_all_reduce
from simulator.algorithms.schedules import ring
from simulator.base.limits import TooLarge
from simulator.machines.routing import Explicit, Routes, Torus


def lists(routes):
    return [routes.links[first:last].tolist() for first, last in zip(routes.start[:-1], routes.start[1:], strict=True)]


@generators.composite
def networks(draw):
    devices, switches = draw(generators.integers(1, 6)), draw(generators.integers(0, 4))
    nodes = [f"node {number}" for number in range(devices + switches)]
    latency = generators.sampled_from([0.0, 1e-6, 2e-6, 0.3])  # few different ones, so that many routes are as quick
    node = generators.sampled_from(nodes)
    tree = [(draw(generators.sampled_from(nodes[:at])), nodes[at], 1e9, draw(latency)) for at in range(1, len(nodes))]
    more = draw(generators.lists(generators.tuples(node, node, generators.just(1e9), latency), max_size=10))
    return tuple(nodes[:devices]), draw(generators.permutations(tree + more))


def every_way_from(start, nodes, links):
    """The whole way to each node: the quickest, then the shortest, then the one found first in the order of the numbers."""
    leaving = {node: [] for node in nodes}
    for index, (first, second, _, latency) in enumerate(links):
        leaving[first].append((2 * index, second, latency))
        leaving[second].append((2 * index + 1, first, latency))
    best, routes, todo = {start: (0.0, 0)}, {start: []}, [(0.0, 0, nodes.index(start))]
    while todo:
        seconds, count, number = heapq.heappop(todo)
        if (seconds, count) > best[nodes[number]]:
            continue
        for link, other, latency in leaving[nodes[number]]:
            cost = (seconds + latency, count + 1)
            if other not in best or cost < best[other]:
                best[other], routes[other] = cost, [*routes[nodes[number]], link]
                heapq.heappush(todo, (*cost, nodes.index(other)))
    return routes


@given(network=networks(), data=generators.data())
def test_ways_through_any_network_are_those_of_a_plain_search(network, data):
    devices, links = network
    routing = Explicit.of(devices, links)
    pairs = [(a, b) for a in range(len(devices)) for b in range(len(devices))]
    asked = data.draw(generators.lists(generators.sampled_from(pairs), max_size=2 * len(pairs)))
    source, target = np.array(asked, np.int64).reshape(-1, 2).T
    expected = {name: every_way_from(name, list(routing.names), links) for name in devices}

    assert [expected[devices[a]][devices[b]] for a, b in asked] == lists(routing.routes(source, target))


def hop_by_hop(shape, source, target):
    here, way = list(np.unravel_index(source, shape)), []
    there = np.unravel_index(target, shape)
    for dimension, size in reversed(list(enumerate(shape))):
        ahead = (there[dimension] - here[dimension]) % size
        forward = 2 * ahead < size if here[dimension] == size // 2 else 2 * ahead <= size
        for _ in range(ahead if forward else size - ahead):
            number = int(np.ravel_multi_index(here, shape))
            way.append(math.prod(shape) * (2 * dimension + (0 if forward else 1)) + number)
            here[dimension] = (here[dimension] + (1 if forward else -1)) % size
    return way


@given(shape=generators.lists(generators.integers(1, 5), min_size=1, max_size=4), data=generators.data())
def test_ways_through_a_torus_are_those_of_going_hop_by_hop(shape, data):
    device = generators.integers(0, math.prod(shape) - 1)
    asked = data.draw(generators.lists(generators.tuples(device, device), max_size=6))
    source, target = np.array(asked, np.int64).reshape(-1, 2).T

    assert [hop_by_hop(shape, a, b) for a, b in asked] == lists(Torus(tuple(shape)).routes(source, target))


def line(devices, latency=1e-6):
    names = [f"d{number}" for number in range(devices)]
    links = [(first, second, 1e9, latency) for first, second in itertools.pairwise(names)]
    return Cluster.of_links(names, links)


def test_a_ring_on_a_line_of_1500_devices_asks_for_the_links_of_its_messages_only():
    one = ring(1500).rounds[0]

    routes = line(1500).routing.routes(one.source, one.target)

    assert 1499 + 1499 == routes.links.size  # a step to the next, and the whole way back
    found = predict_all_reduce(line(1500), 1e6, "ring")
    assert 2 * 1499 * (1499e-6 + 1e6 / 1500 / 1e9) == pytest.approx(found.seconds, rel=1e-9)  # as slow as the way back


def test_a_ring_of_100000_devices_in_a_torus_takes_no_more_links_than_its_messages_have():
    devices = np.arange(100_000)

    assert 100_000 == Torus((100_000,)).routes(devices, (devices + 1) % 100_000).links.size


def test_ways_with_too_many_links_are_refused(monkeypatch):
    monkeypatch.setattr("simulator.machines.routing.MOST_LINKS", 12)
    near, far = np.arange(3), np.arange(3, 6)

    assert 9 == line(6).routing.routes(near, far).links.size
    with pytest.raises(
        TooLarge, match=r"6 routes between 6 devices .* Use an algorithm whose messages go to neighbours"
    ):
        line(6).routing.routes(np.concatenate([near, far]), np.concatenate([far, near]))


def test_only_the_narrowest_links_of_a_line_hold_messages_up():
    bandwidth = np.array([4.0, 2.0, 3.0, 5.0, 1.0])
    together = Routes(np.array([0, 5, 10]), np.array([0, 1, 2, 3, 4] * 2))
    branching = Routes(np.array([0, 3, 5]), np.array([0, 1, 2, 0, 3]))

    assert [[4], [4]] == lists(together.narrowed(bandwidth))
    # All messages of 2 and 3 take the link before, which has less; those of 0 do not all take the one after.
    assert [[0, 1], [0]] == lists(branching.narrowed(bandwidth))
    assert [[], []] == lists(Routes(np.zeros(3, np.int64), np.empty(0, np.int64)).narrowed(bandwidth))


def test_ways_without_links_take_seconds_and_bytes_of_the_same_kind():
    cluster = Cluster.star(1, 1e9, 1e-6)

    assert np.float64 == cluster.latency_of(cluster.routing.routes(np.empty(0, int), np.empty(0, int))).dtype
    assert np.float64 == predict_all_reduce(cluster, 8, "double_tree").link_bytes.dtype
