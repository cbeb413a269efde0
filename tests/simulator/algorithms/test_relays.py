"""Rings on links of their own give the bits of playing every message, with far fewer played."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

from simulator import Cluster, predict_all_reduce
from simulator.algorithms.relays import _groups, relayed
from simulator.algorithms.schedules import all_gather, halving_doubling, reduce_scatter, ring
from simulator.base.limits import TooLarge
from simulator.predictions.prediction import arrivals, one_by_one
from tests.thorough import examples

latencies = generators.sampled_from([0.0, 1e-7, 1e-6, 3.3e-6])
bandwidths = generators.sampled_from([1e8, 1e9, 3e9, 1e10])


@generators.composite
def stars(draw):
    """Devices whose links all differ."""
    names = [f"d{number}" for number in range(draw(generators.integers(1, 9)))]
    return Cluster.of_links(names, [(name, "switch", draw(bandwidths), draw(latencies)) for name in names])


@generators.composite
def lines(draw):
    names = [f"d{number}" for number in range(draw(generators.integers(1, 9)))]
    pairs = itertools.pairwise(names)
    return Cluster.of_links(names, [(*pair, draw(bandwidths), draw(latencies)) for pair in pairs])


small = generators.integers(1, 5)
clusters = generators.one_of(
    generators.builds(Cluster.hosts, small, small, bandwidths, latencies, bandwidths, latencies),
    generators.builds(lambda *shape: Cluster.torus(shape, 1e9, 1e-6), small, small),
    generators.builds(Cluster.fat_tree, small, small, small, bandwidths, latencies),
    generators.builds(Cluster.star, generators.integers(1, 12), bandwidths, latencies),
    stars(),
    lines(),
)


@given(
    cluster=clusters,
    make=generators.sampled_from([ring, reduce_scatter, all_gather]),
    payload=generators.sampled_from([0, 1, 4096, 1e6 + 1 / 3]),
    envelope=generators.sampled_from([0, 16]),
    sharing=generators.sampled_from(["equal", "latency"]),
    data=generators.data(),
)
@settings(max_examples=examples(50, 150), deadline=None)
def test_rings_give_the_bits_of_playing_every_message(cluster, make, payload, envelope, sharing, data):
    cluster, count = dataclasses.replace(cluster, sharing=sharing), cluster.device_count
    devices = np.array(
        data.draw(generators.one_of(generators.just(range(count)), generators.permutations(range(count))))
    )
    begin = np.array(data.draw(generators.lists(latencies, min_size=count, max_size=count)))

    quick = relayed(cluster, make(count), payload, envelope, devices, begin)
    ends, carried = one_by_one(cluster, make(count), payload, envelope, devices, begin)

    if quick is not None:
        assert ends.tolist() == quick[0].tolist()
        np.testing.assert_allclose(carried, quick[1], rtol=1e-12)


def test_one_device_of_each_place_in_a_host_is_played_for_all():
    devices = np.arange(12_500 * 8)
    crossing = (devices % 8 == 7).astype(np.int64)  # sends out of its host

    group = _groups(crossing, (devices + 1) % devices.size)

    assert 8 == np.unique(group).size
    assert all(np.unique(group[place::8]).size == 1 for place in range(8))


@given(pattern=generators.lists(generators.integers(0, 2), min_size=1, max_size=9), times=generators.integers(1, 4))
def test_devices_of_a_group_see_the_same_kinds_all_around(pattern, times):
    kinds = np.array(pattern * times)
    count = kinds.size

    group = _groups(np.unique(kinds, return_inverse=True)[1], (np.arange(count) + 1) % count)

    seen = [tuple(np.roll(kinds, -at)) for at in range(count)]
    assert [[a == b for b in seen] for a in seen] == [[a == b for b in group] for a in group]


@pytest.mark.parametrize("hosts", [1, 2, 3, 7, 1000, 12_500])
def test_rings_over_hosts_are_as_slow_as_the_messages_between_them(hosts):
    cluster, devices = Cluster.hosts(hosts, 8, 1e10, 1e-7, 1e9, 1e-6), 8 * hosts
    latency, bandwidth = (2.2e-6, 1e9) if hosts > 1 else (2e-7, 1e10)

    found = predict_all_reduce(cluster, 1e6, "ring")

    assert 2 * (devices - 1) * (latency + 1e6 / devices / bandwidth) == pytest.approx(found.seconds, rel=1e-9)
    assert 2 * (devices - 1) * devices == found.transfers
    assert 2e6 * (devices - 1) / devices == pytest.approx(found.link_bytes.max(), rel=1e-9)


def test_rings_whose_messages_share_links_are_refused_where_they_have_too_many():
    cluster, count = Cluster.hosts(1250, 8, 1e10, 1e-7, 1e9, 1e-6), 10_000
    mixed = np.random.default_rng(1).permutation(count)

    with pytest.raises(
        TooLarge, match=r"199,980,000 messages, .*; expected at most .*\. Use an algorithm of fewer messages"
    ):
        arrivals(cluster, ring(count), 1e6, mixed, np.zeros(count))


def test_rings_of_too_many_different_devices_are_refused():
    cluster, count = Cluster.star(200_000, 1e9, 1e-6), 200_000

    with pytest.raises(TooLarge, match=r"79,999,600,000 messages, .*; expected at most .*\. Use an algorithm of fewer"):
        arrivals(cluster, ring(count), 1e6, np.arange(count), np.arange(count) * 1e-9)


def test_other_schedules_are_played_message_by_message():
    cluster = Cluster.star(4, 1e9, 1e-6)

    assert relayed(cluster, halving_doubling(4), 1e6, 0, np.arange(4), np.zeros(4)) is None
    assert relayed(cluster, ring(1), 1e6, 0, np.arange(1), np.zeros(1)) is None
    assert math.isfinite(predict_all_reduce(cluster, 1e6, "halving_doubling").seconds)
