"""Predicted times agree with SimGrid, with closed forms, and with an independent clock."""

import csv
import dataclasses
import json
import math
import pathlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

from simulator import Cluster, predict_all_reduce, presets
from simulator.algorithms.schedules import ALGORITHMS, all_to_one, ring
from simulator.base.limits import TooLarge
from simulator.predictions.prediction import arrivals, by_message, played, round_by_round
from tests.thorough import examples

BANDWIDTH, LATENCY = 12.5e9, 500e-9
TABLE = pathlib.Path(__file__).parents[2] / "fixtures" / "simgrid.csv"
ROWS = list(csv.DictReader(TABLE.read_text().splitlines()))
NAMES = {
    "lr": "ring",
    "rdb": "recursive_doubling",
    "rab": "halving_doubling",
    "rab_rdb": "halving_doubling",
    "mvapich2_rs": "halving_doubling",
    "rab1": "halving_linear",
    "redbcast": "reduce_broadcast",
}


def platform(name):
    kind, _, devices = name.partition("_")
    count = int(devices)
    if kind == "star":
        return Cluster.star(count, BANDWIDTH, LATENCY)
    if kind == "bb4":
        return Cluster.backbone(count, BANDWIDTH, LATENCY, oversubscription=4)
    leaf = 8 if count == 64 else 16
    return Cluster.fat_tree(count // leaf, leaf, leaf // 4, BANDWIDTH, LATENCY)


@pytest.mark.parametrize("name", sorted({row["platform"] for row in ROWS}))
def test_every_prediction_of_simgrid_is_met(name):
    cluster = platform(name)
    for row in [row for row in ROWS if row["platform"] == name]:
        found = predict_all_reduce(cluster, float(row["bytes"]), NAMES[row["algorithm"]], envelope_bytes=16)

        assert float(row["predicted_microseconds"]) == pytest.approx(found.seconds * 1e6, rel=1e-5), row
        assert int(row["transfers"]) == found.transfers


TOPOLOGIES = list(csv.DictReader((TABLE.parent / "simgrid_topologies.csv").read_text().splitlines()))


@pytest.mark.parametrize("kind", sorted({row["cluster"] for row in TOPOLOGIES}))
def test_on_other_topologies_every_device_is_done_when_simgrid_says(kind):
    """The file beside the table says how SimGrid made it; a torus, a fat tree and a star there have SimGrid's own routes."""
    for row in [row for row in TOPOLOGIES if row["cluster"] == kind]:
        arguments, chosen, begin, ends = (json.loads(row[name]) for name in ("arguments", "devices", "begin", "ends"))
        made = (getattr(Cluster, kind, None) or getattr(presets, kind))(*arguments)
        cluster = dataclasses.replace(made, sharing=row["sharing"])
        devices = np.array(chosen or range(cluster.device_count))
        schedule = ALGORITHMS[row["algorithm"]](devices.size, devices.size if chosen else cluster.host_size)
        payload, ready = float(row["bytes"]), np.array(begin or [0.0] * devices.size)

        found = arrivals(cluster, schedule, payload, devices, ready)[1]

        assert ends == pytest.approx(found.tolist(), rel=1e-9, abs=0), row
        if not begin:
            quick = played(cluster, schedule, payload, devices=devices).seconds
            assert max(ends) == pytest.approx(quick, rel=1e-9, abs=0), row


CLOSED = {
    "ring": lambda n, s: 2 * (n - 1) * (2 * LATENCY + s / n / BANDWIDTH),
    "recursive_doubling": lambda n, s: math.log2(n) * (2 * LATENCY + s / BANDWIDTH),
    "halving_doubling": lambda n, s: 2 * (math.log2(n) * 2 * LATENCY + (n - 1) / n * s / BANDWIDTH),
    "reduce_broadcast": lambda n, s: (
        2 * LATENCY + (n - 1) * s / BANDWIDTH + math.log2(n) * (2 * LATENCY + s / BANDWIDTH)
    ),
}


@pytest.mark.parametrize("algorithm", CLOSED)
@pytest.mark.parametrize("devices", [2, 8, 64, 1024])
@pytest.mark.parametrize("payload", [4096, 1 << 20, 1e9 + 7])
def test_without_an_envelope_the_closed_forms_are_met(algorithm, devices, payload):
    found = predict_all_reduce(Cluster.star(devices, BANDWIDTH, LATENCY), payload, algorithm)

    assert CLOSED[algorithm](devices, payload) == pytest.approx(found.seconds, rel=1e-9)


CLUSTERS = [
    lambda n: Cluster.star(n, 1e9, 1e-6),
    lambda n: Cluster.backbone(n, 1e9, 0.0, oversubscription=3),
    lambda n: Cluster.fat_tree(n, 2, 1, 1e9, 1e-6),
    lambda n: Cluster.torus((n, 3), 1e9, 1e-6),
    lambda n: Cluster.hosts(n, 4, 1e10, 1e-7, 1e9, 1e-6),
]


@given(
    make=generators.sampled_from(CLUSTERS),
    devices=generators.integers(1, 9),
    algorithm=generators.sampled_from(sorted(ALGORITHMS)),
    payload=generators.sampled_from([0, 1, 4096, 10**6]),
)
@settings(max_examples=examples(50, 150))
def test_the_fast_path_gives_what_the_general_engine_gives(make, devices, algorithm, payload):
    cluster = make(devices)
    schedule = ALGORITHMS[algorithm](cluster.device_count, cluster.host_size)
    slow, quick = by_message(cluster, schedule, payload, 0), round_by_round(cluster, schedule, payload, 0)

    assert schedule.transfers == slow.transfers
    if quick is not None:
        assert slow.seconds == pytest.approx(quick.seconds, rel=1e-12, abs=1e-15)
        np.testing.assert_allclose(slow.link_bytes, quick.link_bytes)
    # Nothing is lost: a link carries whole messages, and nothing is faster than its slowest link.
    links = slow.link_bytes / cluster.bandwidth()
    assert slow.seconds >= links.max(initial=0.0) * (1 - 1e-9)


def test_a_shorter_route_gets_more_where_latencies_count():
    links = [("near", "switch", 1e12, 1e-6), ("far", "switch", 1e12, 3e-6), ("switch", "sink", 1e9, 0.0)]
    equal = Cluster.of_links(["sink", "near", "far"], links)
    weighted = dataclasses.replace(equal, sharing="latency")
    gather = all_to_one(3)

    # Both share the last link: half each, or three quarters for the one and a quarter for the other.
    for cluster, near in ((equal, 1e-6 + 2e-6 + 2 * (1e-3 - 2e-6)), (weighted, 3e-6 + (1e-3 - 2e-6) / 0.75)):
        ends = arrivals(cluster, gather, 1e6, np.arange(3), np.zeros(3))[1]

        assert near == pytest.approx(ends[1], rel=1e-12)
        assert 1e-6 + 2e-3 == pytest.approx(ends[2], rel=1e-12)


def test_auto_is_the_fastest():
    for payload in (64, 1 << 20, 1 << 30):
        cluster = Cluster.hosts(4, 8, 450e9, 1e-6, 50e9, 5e-6)
        every = {name: predict_all_reduce(cluster, payload, name).seconds for name in ALGORITHMS}
        found = predict_all_reduce(cluster, payload)

        assert min(every.values()) == found.seconds == every[found.algorithm]


def test_one_device_needs_no_time():
    for algorithm in ALGORITHMS:
        found = predict_all_reduce(Cluster.star(1, 1e9, 1e-6), 1e6, algorithm)
        assert (0.0, 0) == (found.seconds, found.transfers)


def test_predictions_repeat_bit_for_bit():
    cluster = Cluster.fat_tree(8, 8, 2, BANDWIDTH, LATENCY)

    first, second = (by_message(cluster, ring(64), 12345, 7) for _ in range(2))

    assert first == second
    assert hash(first) == hash(second)


def test_what_cannot_be_predicted_is_refused():
    cluster = Cluster.star(2, 1e9, 1e-6)
    with pytest.raises(ValueError, match="expected auto or one of"):
        predict_all_reduce(cluster, 1, "fastest")
    with pytest.raises(ValueError, match="expected auto or one of"):
        predict_all_reduce(cluster, 1, ["ring"])
    for size in (-1, math.nan, math.inf, "many", 10**400):
        with pytest.raises(ValueError, match="at least 0"):
            predict_all_reduce(cluster, size, "ring")
    with pytest.raises(TypeError, match=r"expected a simulator\.Cluster"):
        predict_all_reduce(8, 1, "ring")


@pytest.mark.parametrize("algorithm", ["auto", "in_switch", *ALGORITHMS])
@pytest.mark.parametrize(
    ("payload", "bandwidth", "latency"),
    [(1e300, 1e-300, 0), (10**308, 1e-9, 1e-6), (1, 5e-324, 0), (8, 1e9, 1.7e308), (1.7e308, 1e308, 0)],
)
def test_times_and_loads_too_large_for_a_number_are_refused(algorithm, payload, bandwidth, latency):
    """They used to be 0 seconds."""
    for cluster in (Cluster.star(4, bandwidth, latency), Cluster.star(7, bandwidth, latency)):
        with pytest.raises(
            OverflowError, match=r"would (take|arrive) .*; expected .* a float can hold\. Give fewer bytes"
        ):
            predict_all_reduce(cluster, payload, algorithm, envelope_bytes=payload)


def test_latencies_as_good_as_none_share_as_none():
    tiny, none = (dataclasses.replace(Cluster.star(3, 1e9, some), sharing="latency") for some in (1e-310, 0.0))

    assert predict_all_reduce(none, 1e6).seconds == predict_all_reduce(tiny, 1e6).seconds


def test_auto_leaves_out_what_cannot_be_played(monkeypatch):
    cluster = Cluster.of_links(
        "abcde", [("a", "s", 1e9, 0), *((name, "t", 2e9, 0) for name in "bcde"), ("s", "t", 1e9, 0)]
    )
    every = {name: predict_all_reduce(cluster, 1e6, name) for name in ALGORITHMS}
    few = {name for name, found in every.items() if found.transfers <= 16}
    assert "ring" not in few
    assert predict_all_reduce(cluster, 1e6).algorithm not in few

    monkeypatch.setattr("simulator.predictions.prediction.MOST_MESSAGES", 16)
    monkeypatch.setattr("simulator.algorithms.relays.MOST_RELAYS", 0)

    assert min(every[name].seconds for name in few) == predict_all_reduce(cluster, 1e6).seconds
    monkeypatch.setattr("simulator.predictions.prediction.MOST_MESSAGES", 1)
    with pytest.raises(TooLarge, match="Use an algorithm of fewer messages"):
        predict_all_reduce(cluster, 1e6)


def test_what_has_too_many_messages_is_refused_before_they_are_made():
    with pytest.raises(TooLarge, match=r"65,536 send to each other at once.*Use 'halving_doubling'"):
        predict_all_reduce(Cluster.star(100_000, 1e9, 1e-6), 1e6, "halving_linear")


def test_a_prediction_cannot_be_changed():
    found = predict_all_reduce(Cluster.star(2, 1e9, 1e-6), 8, "ring")
    with pytest.raises(ValueError, match="read-only"):
        found.link_bytes[0] = 1


def test_a_switch_that_adds_needs_one_way_up_and_down():
    cluster = Cluster.star(16, BANDWIDTH, LATENCY)
    found = predict_all_reduce(cluster, 1 << 20, "in_switch")

    assert 2 * LATENCY + (1 << 20) / BANDWIDTH == pytest.approx(found.seconds, rel=1e-12)
    assert (32, 1 << 20) == (found.transfers, found.link_bytes.max())
    assert 0.0 == predict_all_reduce(Cluster.star(1, BANDWIDTH, LATENCY), 8, "in_switch").seconds
    assert predict_all_reduce(Cluster.hosts(1, 8, 1e9, 0, 1e9, 0), 8, "in_switch").seconds > 0
    with pytest.raises(ValueError, match="one switch"):
        predict_all_reduce(Cluster.torus((4,), 1e9, 0), 8, "in_switch")
