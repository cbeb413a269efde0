"""Presets have the numbers of their makers, and predict what is measured on such machines."""

import math

import pytest

from simulator import predict_all_reduce, presets

CLUSTERS = {
    "dgx_a100": presets.dgx_a100(),
    "dgx_h100": presets.dgx_h100(hosts=4),
    "dgx_h200": presets.dgx_h200(hosts=2, network_gigabits=200),
    "dgx_b200": presets.dgx_b200(),
    "pcie_box": presets.pcie_box(4, generation=5),
    "ethernet": presets.ethernet(3, 2, 25),
    "tpu_v4": presets.tpu_v4((2, 2, 4)),
    "tpu_v5e": presets.tpu_v5e([4, 4]),
    "tpu_v5p": presets.tpu_v5p((2, 2, 1)),
}


def bus_bandwidth(cluster, payload_bytes):
    """What nccl-tests calls busbw: the bytes per second of each device's link, as if the algorithm were a ring."""
    count = cluster.device_count
    return payload_bytes * 2 * (count - 1) / count / predict_all_reduce(cluster, payload_bytes, "ring").seconds


@pytest.mark.parametrize("name", CLUSTERS)
def test_links_achieve_a_little_less_than_their_wires(name):
    for link in CLUSTERS[name].links:
        assert 0.75 <= link.bandwidth_bytes_per_second / link.wire_bytes_per_second <= 1
        assert 0 < link.latency_seconds < 1e-5


@pytest.mark.parametrize("name", CLUSTERS)
def test_presets_are_values_and_can_be_played(name):
    cluster = CLUSTERS[name]

    assert cluster.device_count > 1
    assert hash(cluster) == hash(CLUSTERS[name])
    assert 0 < predict_all_reduce(cluster, 1e6).seconds < 1


@pytest.mark.parametrize(
    ("make", "wire", "least", "most"),
    [
        (presets.dgx_a100, 300e9, 225e9, 245e9),  # nccl-tests measures about 230 to 240 GB/s,
        (presets.dgx_h100, 450e9, 360e9, 375e9),  # 365 to 370 without NVLink SHARP,
        (presets.dgx_h200, 450e9, 360e9, 375e9),
        (presets.dgx_b200, 900e9, 690e9, 730e9),  # and about 700
    ],
)
def test_rings_in_a_box_reach_what_is_measured(make, wire, least, most):
    assert wire == make().links[0].wire_bytes_per_second
    assert least < bus_bandwidth(make(), 4e9) < most


def test_rings_over_boxes_are_as_fast_as_the_network():
    cluster = presets.dgx_h100(hosts=4)

    assert 400e9 == cluster.links[2].wire_bytes_per_second  # eight adapters of 400 Gb/s
    assert 0.9 * 370.8e9 < bus_bandwidth(cluster, 16e9) < 370.8e9
    assert bus_bandwidth(presets.dgx_h100(hosts=4, network_gigabits=100), 16e9) < 100e9


def test_hosts_keep_their_devices_together():
    assert 8 == presets.dgx_h100(hosts=4).host_size
    assert 2 == presets.ethernet(3, 2, 25).host_size
    assert 8 == presets.dgx_a100().host_size


def test_generations_of_pcie_double():
    fourth, fifth = (presets.pcie_box(2, generation=number).links[0] for number in (4, 5))

    assert 31.5e9 == pytest.approx(fourth.wire_bytes_per_second, rel=1e-3)
    assert 2 * fourth.bandwidth_bytes_per_second == fifth.bandwidth_bytes_per_second


def test_a_torus_has_the_links_of_its_chips():
    cluster = presets.tpu_v5p((2, 4, 4))

    assert {90e9} == {link.bandwidth_bytes_per_second for link in cluster.links}
    assert 6 * 32 == sum(link.count for link in cluster.links)
    assert 4 * 16 == sum(link.count for link in presets.tpu_v5e((4, 4)).links)


@pytest.mark.parametrize(
    ("kind", "gigabytes", "flops", "bandwidth"),
    [
        (presets.A100, 80, 312e12, 2.039e12),
        (presets.H100, 80, 989e12, 3.35e12),
        (presets.H200, 141, 989e12, 4.8e12),
        (presets.B200, 180, 2.25e15, 8e12),
        (presets.TPU_V4, 34.36, 275e12, 1.228e12),
        (presets.TPU_V5E, 17.18, 197e12, 819e9),
        (presets.TPU_V5P, 102.0, 459e12, 2.765e12),
    ],
)
def test_devices_have_the_numbers_of_their_makers(kind, gigabytes, flops, bandwidth):
    assert gigabytes * 1e9 == pytest.approx(kind.memory_bytes, rel=1e-3)
    assert (flops, bandwidth) == (kind.flops_per_second, kind.memory_bandwidth_bytes_per_second)


def test_other_devices_can_be_put_into_a_box():
    assert presets.H200 == presets.pcie_box(2, kind=presets.H200).kind
    assert presets.A100 == presets.ethernet(2, 2, 10, kind=presets.A100).kind


@pytest.mark.parametrize(
    ("make", "given", "expected"),
    [
        (lambda: presets.dgx_h100(hosts=0), "hosts=0", "at least 1"),
        (lambda: presets.dgx_h100(hosts=True), "hosts=True", "at least 1"),
        (lambda: presets.dgx_a100(hosts=1.5), "hosts=1.5", "an int"),
        (lambda: presets.dgx_b200(2, network_gigabits=300), "network_gigabits=300", "100, 200 or 400"),
        (lambda: presets.pcie_box(0), "devices=0", "at least 1"),
        (lambda: presets.pcie_box(2, generation=3), "generation=3", "4 or 5"),
        (lambda: presets.ethernet(2, 0, 25), "devices_per_host=0", "at least 1"),
        (lambda: presets.ethernet(2, 2, 0), "gigabits=0", "above 0"),
        (lambda: presets.ethernet(2, 2, math.inf), "gigabits=inf", "above 0"),
        (lambda: presets.ethernet(2, 2, "25"), "gigabits='25'", "a number"),
        (lambda: presets.tpu_v4((4, 4)), r"shape=\(4, 4\)", "3 ints"),
        (lambda: presets.tpu_v5e(16), "shape=16", "2 ints"),
        (lambda: presets.tpu_v5e((16, 0)), r"shape=\(16, 0\)", "at least 1"),
        (lambda: presets.tpu_v5e((32, 16)), "512 chips", "at most the 256"),
    ],
)
def test_wrong_arguments_are_refused_in_three_parts(make, given, expected):
    with pytest.raises(ValueError, match=rf"got .*{given}.*; expected .*{expected}.*\. (Give|Use) "):
        make()
