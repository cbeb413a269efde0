import itertools
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as generators

from refdist._core.devices.tpu_topology import (
    DeviceAssignment,
    DeviceOrderMode,
    Topology,
    _ring,
    host_count,
    mesh_shape,
    whole_mesh,
)

sizes = generators.tuples(*[generators.integers(1, 4)] * 4)


@given(mesh=sizes, shape=sizes, share=generators.floats(0, 1), mode=generators.sampled_from(DeviceOrderMode))
@settings(suppress_health_check=[HealthCheck.filter_too_much])
def test_every_core_is_used_at_most_once_and_each_replica_has_a_block_of_the_shape(mesh, shape, share, mode):
    most = math.prod(whole // part for whole, part in zip(mesh, shape, strict=True))
    assume(most > 0)
    replicas = max(1, round(share * most))
    assume(mode is not DeviceOrderMode.RING or (shape[3] == mesh[3] and replicas == most))
    topology = whole_mesh(mesh, hosts=1)
    assignment = DeviceAssignment.build(topology, shape, num_replicas=replicas, device_order_mode=mode)

    assert (replicas, math.prod(shape)) == (assignment.num_replicas, assignment.num_cores_per_replica)
    assert (replicas, math.prod(shape), 4) == assignment.core_assignment.shape
    cores = [assignment.coordinates(r, c) for r in range(replicas) for c in range(math.prod(shape))]
    assert len(set(cores)) == len(cores)
    for block in assignment.core_assignment:
        assert list(shape) == (block.max(axis=0) - block.min(axis=0) + 1).tolist()


@given(sizes=generators.tuples(*[generators.sampled_from([1, 2, 4])] * 3))
def test_a_ring_visits_all_places_and_goes_from_neighbor_to_neighbor(sizes):
    walk = _ring(*sizes)

    assert set(itertools.product(*map(range, sizes))) == set(walk)
    assert len(walk) == math.prod(sizes)
    if sum(size > 1 for size in sizes) > 1:
        steps = zip(walk, walk[1:] + walk[:1], strict=True)
        assert all(sum(abs(a - b) for a, b in zip(one, other, strict=True)) == 1 for one, other in steps)


@given(cores=generators.integers(1, 200))
def test_a_number_of_cores_becomes_a_mesh_shared_evenly_by_hosts(cores):
    shape, hosts = mesh_shape(cores), host_count(cores)

    assert cores == math.prod(shape)
    assert cores % hosts == 0
    assert cores // hosts <= 8


def test_the_assignments_of_tensorflow():
    # Taken from TensorFlow 2.21; the replicas go around the mesh in a ring.
    assignment = DeviceAssignment.build(whole_mesh((1, 2, 2, 2), hosts=1), [1, 1, 1, 2], num_replicas=4)
    assert [[0, 0, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 0]] == assignment.core_assignment[:, 0].tolist()

    strided = DeviceAssignment.build(whole_mesh((1, 1, 1, 4), hosts=1), [1, 1, 1, 2], [1, 1, 1, 2], num_replicas=2)
    assert [[0, 2], [1, 3]] == strided.core_assignment[:, :, 3].tolist()


@pytest.mark.parametrize(("short", "full"), [([1, 1, 2], [1, 1, 1, 2]), ([2, 2, 2], [1, 2, 2, 2])])
def test_three_entries_are_the_last_of_four(short, full):
    topology = whole_mesh((2, 2, 2, 2), hosts=2)
    one, other = (DeviceAssignment.build(topology, shape) for shape in (short, full))

    np.testing.assert_array_equal(one.core_assignment, other.core_assignment)


def test_an_assignment_knows_hosts_and_names():
    topology = whole_mesh((2, 2, 2, 2), hosts=2)
    assignment = DeviceAssignment.build(topology, [1, 2, 2, 2], num_replicas=2)

    assert assignment.topology is topology
    assert ("/task:1/device:TPU:0", "/job:worker/task:1/device:CPU:0") == (
        assignment.tpu_device(1, 0),
        assignment.host_device(1, 0, job="worker"),
    )
    assert 0 == assignment.tpu_ordinal(1)
    assert [0] == assignment.lookup_replicas(0, 3)
    for task, core in ((2, 0), (0, 8), (0, -1)):
        with pytest.raises(ValueError, match="expected a host"):
            assignment.lookup_replicas(task, core)
    assert (2, 8, 4) == (topology.num_tasks, topology.num_tpus_per_task, topology.mesh_rank)


def test_around_missing_cores_replicas_get_the_next_ones():
    topology = Topology(mesh_shape=(1, 1, 2, 2), device_coordinates=[[[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 1]]])

    assert [[0, 0, 1, 0]] == topology.missing_devices.tolist()
    assignment = DeviceAssignment.build(topology, num_replicas=3)
    assert [0, 0, 1, 1] == assignment.core_assignment[2, 0].tolist()
    for options in ({"num_replicas": 4}, {"computation_stride": [1, 1, 1, 2]}):
        with pytest.raises(ValueError, match="missing"):
            DeviceAssignment.build(topology, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"computation_shape": [1, 1, 1, 4]}, "no more fit"),
        ({"computation_shape": [1, 1, 1, 2], "num_replicas": 5}, "1 to 4"),
        ({"num_replicas": 0}, "1 to 8"),
        ({"num_replicas": True}, "num_replicas=True"),
        ({"num_replicas": 1.5}, "num_replicas=1.5"),
        ({"computation_shape": [2, 2]}, "computation_shape"),
        ({"computation_shape": [1, 1, 0, 1]}, "at least 1"),
        ({"computation_shape": [1, 1, 1, 1.5]}, "4 ints"),
        ({"computation_stride": 2}, "computation_stride"),
        ({"num_replicas": 7, "device_order_mode": DeviceOrderMode.RING}, "Use AUTO"),
    ],
)
def test_what_does_not_fit_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        DeviceAssignment.build(whole_mesh((1, 2, 2, 2), hosts=1), **options)


@pytest.mark.parametrize(
    ("shape", "coordinates", "message"),
    [
        ((1, 2), [[[0, 0]]], "4 sizes"),
        ((1, 1, 1, 0), [[[0, 0, 0, 0]]], "4 sizes"),
        ((1, 1, 1, 1), [[0, 0, 0, 0]], "tasks, devices"),
        ((1, 1, 1, 1), [[[0, 0, 0, 1]]], "inside the mesh"),
        ((1, 1, 1, 1), [[[0, 0, 0, -1]]], "inside the mesh"),
    ],
)
def test_a_topology_that_is_none_is_refused(shape, coordinates, message):
    with pytest.raises(ValueError, match=message):
        Topology(mesh_shape=shape, device_coordinates=coordinates)


def test_a_serialized_topology_is_refused():
    with pytest.raises(NotImplementedError, match="mesh_shape="):
        Topology(b"bytes")


def test_an_assignment_that_is_none_is_refused():
    topology = whole_mesh((1, 1, 1, 2), hosts=1)
    for cores, message in (([[0, 0, 0, 0]], "cores of a replica"), ([[[0, 0, 0, 2]]], "inside the mesh")):
        with pytest.raises(ValueError, match=message):
            DeviceAssignment(topology, cores)
    for make in (DeviceAssignment.build, lambda other: DeviceAssignment(other, [[[0, 0, 0, 0]]])):
        with pytest.raises(ValueError, match="initialize_tpu_system"):
            make("2x2")


def test_a_stride_leaves_cores_out_between_those_of_a_replica_and_the_next_replica_takes_them():
    # Whole chips that fill the mesh, so that without a stride the replicas would go around it in a ring.
    strided = DeviceAssignment.build(whole_mesh((1, 4, 1, 2), hosts=1), [1, 2, 1, 2], [1, 2, 1, 1], num_replicas=2)

    assert [[0, 0, 2, 2], [1, 1, 3, 3]] == strided.core_assignment[:, :, 1].tolist()


def test_replicas_with_a_stride_lie_block_after_block():
    strided = DeviceAssignment.build(whole_mesh((2, 2, 1, 1), hosts=1), None, [2, 1, 1, 1], num_replicas=4)

    assert [[0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0]] == strided.core_assignment[:, 0].tolist()


def test_a_ring_with_a_stride_is_refused():
    with pytest.raises(ValueError, match="without stride"):
        DeviceAssignment.build(
            whole_mesh((1, 4, 1, 2), hosts=1),
            [1, 2, 1, 2],
            [1, 2, 1, 1],
            num_replicas=2,
            device_order_mode=DeviceOrderMode.RING,
        )


@pytest.mark.parametrize(
    ("replicas", "expected"),
    [
        (2, [[0, 0, 0, 0], [0, 0, 0, 1]]),
        (4, [[0, 0, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0], [1, 0, 0, 1]]),
    ],
)
def test_a_few_replicas_share_a_chip_first_and_then_lie_along_the_axes(replicas, expected):
    assignment = DeviceAssignment.build(whole_mesh((2, 2, 2, 2), hosts=2), num_replicas=replicas)

    assert expected == assignment.core_assignment[:, 0].tolist()


def test_the_tightest_axis_is_filled_first():
    assignment = DeviceAssignment.build(whole_mesh((4, 1, 2, 1), hosts=1), num_replicas=4)

    assert [[0, 0, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [1, 0, 1, 0]] == assignment.core_assignment[:, 0].tolist()
