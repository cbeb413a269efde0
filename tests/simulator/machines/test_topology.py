"""Routes lead where they should, and what makes no sense is refused by name."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as generators

from simulator import Cluster, DeviceKind, presets
from simulator.predictions.prediction import predict_all_reduce


def route(cluster, source, target):
    return [cluster.link_name(link) for link in cluster.routing.routes(np.array([source]), np.array([target])).links]


def test_routes_are_the_expected_links():
    assert ["up 0", "down 3"] == route(Cluster.star(4, 1e9, 0), 0, 3)
    assert ["up 0", "down 3", "backbone 0"] == route(Cluster.backbone(4, 1e9, 0, 2), 0, 3)
    tree = Cluster.fat_tree(2, 4, 2, 1e9, 0)
    assert ["up 0", "down 3"] == route(tree, 0, 3)
    assert ["up 0", "leaf up 1", "leaf down 3", "down 5"] == route(tree, 0, 5)
    hosts = Cluster.hosts(2, 2, 1e9, 0, 1e8, 0)
    assert ["up 1", "host up 0", "host down 1", "down 2"] == route(hosts, 1, 2)
    torus = Cluster.torus((4, 2), 1e9, 0)
    assert ["dimension 1 forward of 0", "dimension 0 back of 1"] == route(torus, 0, 7)
    assert ["dimension 1 back of 7", "dimension 0 forward of 6"] == route(torus, 7, 0)


@given(shape=generators.lists(generators.integers(1, 5), min_size=1, max_size=3), data=generators.data())
def test_routes_in_a_torus_are_as_short_as_can_be(shape, data):
    cluster = Cluster.torus(shape, 1e9, 0)
    devices = math.prod(shape)
    source, target = (data.draw(generators.integers(0, devices - 1)) for _ in range(2))
    here, there = np.unravel_index(source, shape), np.unravel_index(target, shape)
    apart = [min((a - b) % size, (b - a) % size) for a, b, size in zip(here, there, shape, strict=True)]

    assert sum(apart) == len(route(cluster, source, target))


def test_any_network_takes_the_quickest_way():
    links = [("a", "s", 1e9, 1e-6), ("b", "s", 1e9, 1e-6), ("a", "b", 1e8, 5e-6), ("c", "b", 1e9, 1e-6)]
    cluster = Cluster.of_links(["a", "b", "c"], links)

    assert ["a to s 0", "s to b 0"] == route(cluster, 0, 1)
    assert ["c to b 0", "b to s 0", "s to a 0"] == route(cluster, 2, 0)
    assert predict_all_reduce(cluster, 8, "ring").seconds > 0


def test_a_star_of_links_is_a_star():
    names = [f"GPU:{index}" for index in range(8)]
    links = Cluster.of_links(names, [(name, "switch", 12.5e9, 5e-7) for name in names])
    star = Cluster.star(8, 12.5e9, 5e-7)

    for algorithm in ("ring", "double_tree", "reduce_broadcast"):
        first, second = (predict_all_reduce(cluster, 1e6, algorithm).seconds for cluster in (links, star))
        assert first == second


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Cluster.star(0, 1e9, 0), "devices has 0"),
        (lambda: Cluster.star(True, 1e9, 0), "devices has True"),
        (lambda: Cluster.star(2, 0, 0), "bandwidth of 'up' is 0"),
        (lambda: Cluster.star(2, math.inf, 0), "bandwidth of 'up'"),
        (lambda: Cluster.star(2, 1e9, -1), "latency of 'up' is -1"),
        (lambda: Cluster.torus((2, 0), 1e9, 0), "torus"),
        (lambda: Cluster.torus((), 1e9, 0), r"torus is \(\)"),
        (lambda: Cluster.torus(4, 1e9, 0), "torus is 4"),  # pyright: ignore[reportArgumentType]
        (lambda: Cluster.backbone(2, 1e9, 0, oversubscription="much"), "oversubscription is 'much'"),  # pyright: ignore
        (lambda: Cluster.backbone(2, None, 0), "bandwidth of 'up' is None"),  # pyright: ignore[reportArgumentType]
        (lambda: DeviceKind("X", memory_bytes=-1), "memory_bytes of the device kind 'X' is -1"),
        (lambda: DeviceKind("X", flops_per_second=0), "flops_per_second of the device kind 'X' is 0"),
        (lambda: Cluster.of_links(["a", "b"], [("a", "b", 1e9)]), r"A link is \('a', 'b'"),  # pyright: ignore
        (lambda: Cluster.backbone(2, 1e9, 0, oversubscription=0), "oversubscription"),
        (lambda: Cluster.fat_tree(2, 2, 0, 1e9, 0), "up_links_per_leaf has 0"),
        (lambda: Cluster.hosts(0, 2, 1e9, 0, 1e9, 0), "hosts has 0"),
        (lambda: dataclasses.replace(Cluster.star(2, 1e9, 0), sharing="fair"), "sharing is 'fair'"),
        (lambda: Cluster.star(99_999_999_999, 1e9, 0), "devices has 99,999,999,999; expected at most 4,000,000"),
        (lambda: Cluster.hosts(10**12, 8, 1e9, 0, 1e9, 0), "hosts has 1,000,000,000,000; expected at most"),
        (lambda: Cluster.torus((10**5, 10**5), 1e9, 0), "devices has 10,000,000,000; expected at most"),
        (lambda: Cluster.fat_tree(10**6, 2, 10**6, 1e9, 0), "2,000,004,000,000 links; expected at most 64,000,000"),
        (lambda: presets.dgx_h100(hosts=10**9), "hosts has 1,000,000,000; expected at most"),
        (lambda: Cluster.star(2, 10**400, 0), "bandwidth of 'up'"),
        (lambda: Cluster.star(2, 1e9, math.nan), "latency of 'up' is nan"),
        (lambda: Cluster.star(2, 1e9, 10**400), "latency of 'up'"),
        (lambda: Cluster.of_links(["a", "a"], []), "Two devices are called 'a'"),
        (lambda: Cluster.of_links(["a", "b"], [("a", "b", -1.0, 0.0)]), "the link from a to b"),
        (lambda: Cluster.of_links(["a", "b"], [("a", "b", "fast", 0.0)]), "the link from a to b"),
        (lambda: Cluster.of_links(["a", "b", "c"], [("a", "b", 1e9, 0.0)]), "'c' cannot be reached from 'a'"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(make, text):
    with pytest.raises(ValueError, match=text):
        make()


def test_clusters_are_values():
    first, second = (Cluster.star(4, 1e9, 1e-6, DeviceKind("A100", 80e9)) for _ in range(2))

    assert first == second
    assert hash(first) == hash(second)
    assert "star of 4 devices" in repr(first)
    for number in (8, 99, -1):
        with pytest.raises(ValueError, match=f"no link {number}; expected 0 to 7"):
            first.link_name(number)
    with pytest.raises(TypeError, match="expected a DeviceKind"):
        Cluster.star(4, 1e9, 1e-6, "A100")  # pyright: ignore[reportArgumentType]


@pytest.mark.timeout(30)
def test_any_network_of_hundreds_of_devices_is_predicted_soon():
    names = [f"d{number}" for number in range(500)]
    links = Cluster.of_links(names, [(name, "switch", 12.5e9, 5e-7) for name in names])

    first, second = (predict_all_reduce(one, 1e6, "ring") for one in (links, Cluster.star(500, 12.5e9, 5e-7)))

    assert first.seconds == second.seconds
