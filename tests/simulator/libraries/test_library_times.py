"""Times of collectives as libraries do them."""

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as generators

from simulator import libraries, presets
from simulator.libraries.library_times import KINDS, estimate, ways
from simulator.machines.fabric import Fabric, Shape
from simulator.machines.topology import Cluster
from simulator.predictions.collectives import (
    predict_all_gather,
    predict_all_to_all,
    predict_broadcast,
    predict_reduce_scatter,
    predict_send,
)
from simulator.predictions.prediction import predict_all_reduce

VERSIONS = ("2.8", "2.14", "2.18", "2.19", "2.21", "2.22", "2.27", "2.28")
MACHINES = (
    presets.dgx_a100(),
    presets.dgx_a100(4),
    presets.dgx_h100(),
    presets.dgx_h100(2),
    presets.dgx_b200(16),
    presets.dgx_v100(2),
    presets.pcie_box(4),
    presets.ethernet(4, 2, 25),
    presets.aws_p5(4),
)
ANY_LIBRARY = generators.sampled_from([*map(libraries.nccl, VERSIONS), libraries.rccl()])
SIZES = generators.floats(1, 1e11)


def seconds(library, shape, kind, size):
    return estimate(library, shape, kind, size, libraries.Launch()).seconds


# Times that NCCL itself has printed (NCCL_DEBUG_SUBSYS=TUNING): issues 1453 and 1595 of NVIDIA/nccl.
def shape_of_1453():
    fabric = Fabric("hopper", "nvlink", 370.8e9, adds_in_switch=True, adapters=8, adapter_bytes_per_second=25e9)
    return Shape(fabric, 3, 8)


@pytest.mark.parametrize(("size", "microseconds"), [(128, 25.214764), (4096, 25.874907), (8192, 26.549810)])
def test_small_trees_begin_as_nccl_says(size, microseconds):
    found = {(way.algorithm, way.protocol): way for way in ways(libraries.nccl("2.22"), shape_of_1453(), "all_reduce")}
    tree = found["tree", "LL"]

    assert 25.2 == pytest.approx(tree.latency_microseconds)
    assert microseconds == pytest.approx(tree.latency_microseconds + size / (1000 * tree.bandwidth), rel=0.05)


def test_large_rings_take_as_long_as_nccl_says_but_for_their_first_chunk():
    between = {
        (way.algorithm, way.protocol): way for way in ways(libraries.nccl("2.22"), shape_of_1453(), "all_reduce")
    }
    ring = dataclasses.replace(between["ring", "Simple"], chunks=None)
    alone = Shape(Fabric("hopper", "nvlink", 370.8e9, adds_in_switch=True), 1, 8)
    inside = {(way.algorithm, way.protocol): way for way in ways(libraries.nccl("2.22"), alone, "all_reduce")}
    box = dataclasses.replace(inside["ring", "Simple"], chunks=None)

    assert 86069.968750e-6 == pytest.approx(sum(ring.parts(8589934592)), rel=1e-6)
    assert 3970.683594e-6 == pytest.approx(sum(box.parts(805306368)), rel=1e-6)


@given(
    library=ANY_LIBRARY,
    machine=generators.sampled_from(MACHINES),
    kind=generators.sampled_from(KINDS),
    one=SIZES,
    other=SIZES,
)
def test_more_bytes_never_take_less_time(library, machine, kind, one, other):
    from simulator.machines.fabric import shape_of

    shape = shape_of(machine, "")
    if library.name == "RCCL":
        shape = dataclasses.replace(shape, fabric=presets.mi300x().fabric)
        if shape.hosts > 1:
            shape = dataclasses.replace(shape, fabric=presets.mi300x(2).fabric)
        library = dataclasses.replace(library, byte_windows={})  # which go by the size alone
    less, more = sorted((one, other))

    assert seconds(library, shape, kind, less) <= seconds(library, shape, kind, more) * (1 + 1e-12)


@given(library=ANY_LIBRARY, size=SIZES, first=generators.floats(5, 900), second=generators.floats(5, 900))
def test_faster_links_inside_never_take_longer(library, size, first, second):
    slow, fast = (Shape(Fabric("ampere", "nvlink", gigabytes * 1e9), 1, 8) for gigabytes in sorted((first, second)))

    assert seconds(library, slow, "all_reduce", size) >= seconds(library, fast, "all_reduce", size) * (1 - 1e-12)


@given(
    library=ANY_LIBRARY,
    size=SIZES,
    first=generators.floats(0.2, 90),
    second=generators.floats(0.2, 90),
    latency=generators.floats(0, 1e-4),
)
def test_faster_networks_never_take_longer_and_latencies_only_add(library, size, first, second, latency):
    slow, fast = (
        Shape(Fabric("hopper", "nvlink", 370.8e9, adapters=8, adapter_bytes_per_second=one * 1e9), 4, 8)
        for one in sorted((first, second))
    )
    late = dataclasses.replace(fast, fabric=dataclasses.replace(fast.fabric, adapter_latency_seconds=latency))

    assert seconds(library, slow, "all_reduce", size) >= seconds(library, fast, "all_reduce", size) * (1 - 1e-12)
    assert seconds(library, late, "all_reduce", size) >= seconds(library, fast, "all_reduce", size) * (1 - 1e-12)


@given(
    devices=generators.sampled_from([1, 2, 3, 7, 8, 64, 1000]), kind=generators.sampled_from(KINDS), library=ANY_LIBRARY
)
def test_any_number_of_devices_takes_a_finite_time(devices, kind, library):
    shape = Shape(Fabric("hopper", "nvlink", 370.8e9, adds_in_switch=True), 1, devices)

    assert 0 < seconds(library, shape, kind, 1e6) < math.inf
    assert seconds(library, shape, kind, 0) < 1


def test_the_parts_of_a_time_are_its_sum():
    found = predict_all_reduce(presets.dgx_h100(2), 2**20, library=libraries.nccl())
    launched = predict_all_reduce(presets.dgx_a100(), 8, library=libraries.nccl(), launch=libraries.Launch(8))

    assert found.seconds == pytest.approx(sum(found.parts.values()))
    assert launched.seconds == pytest.approx(33.6e-6)
    assert launched.parts["launch"] == pytest.approx(
        launched.seconds - launched.parts["latency"] - launched.parts["bytes"]
    )


def test_switches_add_where_they_can():
    library = libraries.nccl()

    assert "nvls" == predict_all_reduce(presets.dgx_h100(), 2**30, library=library).algorithm
    assert "nvls_tree" == predict_all_reduce(presets.dgx_h100(2), 2**30, library=library).algorithm
    assert "ring" == predict_all_reduce(presets.dgx_h100(), 2**30, "ring", library=library).algorithm
    assert "ring" == predict_all_reduce(presets.dgx_a100(), 2**30, library=library).algorithm
    assert "ring" == predict_all_reduce(presets.dgx_h100(), 2**30, library=libraries.nccl("2.14")).algorithm


def test_links_carry_what_the_algorithm_sends_over_them():
    ring = predict_all_reduce(presets.dgx_a100(), 800, library=libraries.nccl(), algorithm="ring")
    nvls = predict_all_reduce(presets.dgx_h100(), 800, library=libraries.nccl(), algorithm="nvls")

    assert (1400.0, 900.0) == (ring.link_bytes.max(), nvls.link_bytes.max())


@pytest.mark.parametrize(
    "predict", [predict_reduce_scatter, predict_all_gather, predict_broadcast, predict_all_to_all, predict_send]
)
def test_other_collectives_are_predicted_with_and_without_a_library(predict):
    cluster = presets.dgx_h100(2)
    plain, counted = predict(cluster, 2**20), predict(cluster, 2**20, library=libraries.nccl())

    assert 0 < plain.seconds < 2 * counted.seconds
    assert ("", {}) == (plain.protocol, plain.parts)
    with pytest.raises(ValueError, match="Give library="):
        predict(cluster, 2**20, launch=libraries.Launch())
    with pytest.raises(ValueError, match="Give bytes"):
        predict(cluster, -1)


def test_a_number_of_a_library_can_be_changed():
    library = dataclasses.replace(libraries.nccl(), launch_microseconds=100.0)

    assert 100e-6 == pytest.approx(predict_all_reduce(presets.dgx_h100(), 8, library=library).seconds)


@pytest.mark.parametrize("version", ["2.7", "two", 2.27, None, ""])
def test_a_version_that_is_none_says_what_to_give(version):
    with pytest.raises(ValueError, match="NCCL_DEBUG=VERSION"):
        libraries.nccl(version)


def test_a_library_wants_hosts_with_devices():
    torus = Cluster.torus((4, 4), 1e9, 1e-6)

    with pytest.raises(ValueError, match="expected devices on one switch"):
        predict_all_reduce(torus, 8, library=libraries.nccl())
    with pytest.raises(TypeError, match="expected a Library"):
        predict_all_reduce(presets.dgx_h100(), 8, library="nccl")
    with pytest.raises(ValueError, match="expected one that NCCL has"):
        predict_all_reduce(presets.dgx_a100(), 8, "nvls", library=libraries.nccl())
    with pytest.raises(ValueError, match="a library has its own"):
        predict_all_reduce(presets.dgx_a100(), 8, envelope_bytes=3, library=libraries.nccl())


def test_clusters_that_users_describe_have_a_fabric_of_their_links():
    cluster = Cluster.hosts(4, 2, 100e9, 1e-6, 10e9, 20e-6)
    slow = Cluster.hosts(4, 2, 100e9, 1e-6, 10e9, 40e-6)
    library = libraries.nccl()

    assert (
        predict_all_reduce(cluster, 8, library=library).seconds < predict_all_reduce(slow, 8, library=library).seconds
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"generation": "fermi"},
        {"inside": "wire"},
        {"processor": 3},
        {"device_bytes_per_second": 0},
        {"adapter_bytes_per_second": -1},
    ],
)
def test_a_fabric_that_cannot_be_is_refused(fields):
    with pytest.raises(ValueError, match="of a Fabric is"):
        Fabric(**fields)
