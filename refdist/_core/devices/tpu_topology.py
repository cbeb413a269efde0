"""The mesh of TPU cores, and which cores each replica gets: arithmetic on coordinates (x, y, z, core)."""

import enum
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
RANK = 4
CORES_PER_HOST = 8


class Topology:
    """The shape of a mesh of TPU cores, and the coordinates of each task's devices in it."""

    def __init__(self, serialized: Any = None, mesh_shape: Any = None, device_coordinates: Any = None) -> None:
        if serialized is not None:
            raise NotImplementedError(
                "Topology() got serialized=...; expected mesh_shape= and device_coordinates=, because there are no protocol "
                "buffers here. Pass these, or call tf.tpu.experimental.initialize_tpu_system()."
            )
        self._shape = np.asarray(mesh_shape, np.int32)
        self._coordinates = np.asarray(device_coordinates, np.int32)
        if self._shape.shape != (RANK,) or (self._shape < 1).any():
            raise ValueError(
                f"Topology() got mesh_shape={mesh_shape!r}; expected {RANK} sizes of at least 1: x, y, z and the cores of a chip. "
                f"Write for example (1, 2, 2, 2)."
            )
        if self._coordinates.ndim != 3 or self._coordinates.shape[2] != RANK:
            raise ValueError(
                f"Topology() got device_coordinates of shape {self._coordinates.shape}; expected (tasks, devices, {RANK}). Give "
                f"the coordinates of each device of each task."
            )
        _require_inside(self._coordinates, self._shape, "device_coordinates")
        self._tasks = np.full(self._shape, -1, np.int32)
        self._devices = np.full(self._shape, -1, np.int32)
        for task, device in np.ndindex(*self._coordinates.shape[:2]):
            place = tuple(self._coordinates[task, device])
            self._tasks[place], self._devices[place] = task, device

    @property
    def mesh_shape(self) -> Array:
        """The sizes along x, y and z, and the number of cores of a chip."""
        return self._shape

    @property
    def mesh_rank(self) -> int:
        """How many dimensions the mesh has: four."""
        return RANK

    @property
    def device_coordinates(self) -> Array:
        """The coordinates of each device of each task, of shape (tasks, devices, 4)."""
        return self._coordinates

    @property
    def missing_devices(self) -> Array:
        """The coordinates of the mesh without a device."""
        return np.argwhere(self._tasks < 0)

    @property
    def num_tasks(self) -> int:
        """How many hosts there are."""
        return self._coordinates.shape[0]

    @property
    def num_tpus_per_task(self) -> int:
        """How many cores each host has."""
        return self._coordinates.shape[1]

    def task_ordinal_at_coordinates(self, device_coordinates: Sequence[int]) -> int:
        """The number of the host that has the core at these coordinates."""
        return int(self._tasks[tuple(device_coordinates)])

    def tpu_device_ordinal_at_coordinates(self, device_coordinates: Sequence[int]) -> int:
        """The number, on its host, of the core at these coordinates."""
        return int(self._devices[tuple(device_coordinates)])

    def cpu_device_name_at_coordinates(self, device_coordinates: Sequence[int], job: str | None = None) -> str:
        """The name of the CPU of the host that has the core at these coordinates."""
        return f"{_job(job)}/task:{self.task_ordinal_at_coordinates(device_coordinates)}/device:CPU:0"

    def tpu_device_name_at_coordinates(self, device_coordinates: Sequence[int], job: str | None = None) -> str:
        """The name of the core at these coordinates."""
        task = self.task_ordinal_at_coordinates(device_coordinates)
        return f"{_job(job)}/task:{task}/device:TPU:{self.tpu_device_ordinal_at_coordinates(device_coordinates)}"


class DeviceOrderMode(enum.IntEnum):
    """The order in which cores are assigned."""

    AUTO = 0
    RING = 1
    MESH = 2


class DeviceAssignment:
    """Which cores of a mesh each replica has; those of one replica are its logical devices.

    >>> topology = whole_mesh((1, 2, 2, 2), hosts=1)
    >>> assignment = DeviceAssignment.build(topology, computation_shape=[1, 1, 1, 2], num_replicas=4)
    >>> assignment.num_replicas, assignment.num_cores_per_replica
    (4, 2)
    """

    def __init__(self, topology: Topology, core_assignment: Any) -> None:
        _require_topology(topology)
        cores = np.asarray(core_assignment, np.int32)
        if cores.ndim != 3 or cores.shape[2] != topology.mesh_rank:
            raise ValueError(
                f"DeviceAssignment() got a core_assignment of shape {cores.shape}; expected (replicas, cores of a replica, "
                f"{topology.mesh_rank}). Let DeviceAssignment.build() make it."
            )
        _require_inside(cores, topology.mesh_shape, "core_assignment")
        self._topology, self._cores = topology, cores

    @classmethod
    def build(
        cls,
        topology: Topology,
        computation_shape: Any = None,
        computation_stride: Any = None,
        num_replicas: int = 1,
        device_order_mode: DeviceOrderMode = DeviceOrderMode.AUTO,
    ) -> "DeviceAssignment":
        """Give each replica a block of cores of this shape; a stride leaves gaps between them.

        A shape of three entries lies in one plane: [1, 1, 2] means [1, 1, 1, 2].
        """
        _require_topology(topology)
        shape = _sizes("computation_shape", computation_shape)
        stride = _sizes("computation_stride", computation_stride)
        mesh, footprint = topology.mesh_shape, shape * stride
        most = int(np.prod(mesh // footprint * stride))
        if not isinstance(num_replicas, int) or isinstance(num_replicas, bool) or not 1 <= num_replicas <= most:
            fitting = f"1 to {most}" if most else "a smaller shape"
            raise ValueError(
                f"DeviceAssignment.build() got num_replicas={num_replicas!r} of shape {shape.tolist()} and stride "
                f"{stride.tolist()}; expected {fitting}, because no more fit into the mesh of shape {mesh.tolist()}. Ask for "
                f"fewer replicas, for smaller ones, or for a larger mesh."
            )
        if topology.missing_devices.size:
            return cls(topology, _in_task_order(topology, shape, stride, num_replicas))
        # As in TensorFlow: whole chips that fill the whole mesh can be ordered so that neighbors are linked.
        can_ring = bool(shape[-1] == mesh[-1] and np.prod(stride) == 1 and num_replicas == most)
        if device_order_mode == DeviceOrderMode.RING and not can_ring:
            raise ValueError(
                f"DeviceAssignment.build() got device_order_mode=RING for {num_replicas} replicas of shape {shape.tolist()}; "
                f"expected replicas of whole chips, without stride, that fill the mesh of shape {mesh.tolist()}. Use AUTO."
            )
        counts = _replica_counts((mesh // footprint * stride).tolist(), num_replicas)
        if can_ring and device_order_mode != DeviceOrderMode.MESH:
            return cls(topology, _in_rings(shape, counts))
        return cls(topology, _in_blocks(shape, stride, counts, num_replicas))

    @property
    def topology(self) -> Topology:
        """The mesh that the cores belong to."""
        return self._topology

    @property
    def num_replicas(self) -> int:
        """How many replicas there are."""
        return self._cores.shape[0]

    @property
    def num_cores_per_replica(self) -> int:
        """How many logical devices each replica has."""
        return self._cores.shape[1]

    @property
    def core_assignment(self) -> Array:
        """The coordinates of each logical device of each replica, of shape (replicas, logical devices, 4)."""
        return self._cores

    def coordinates(self, replica: int, logical_core: int) -> tuple[int, ...]:
        """The coordinates of a logical device of a replica."""
        return tuple(self._cores[replica, logical_core].tolist())

    def lookup_replicas(self, task_id: int, logical_core: int) -> list[int]:
        """Return the replicas whose logical device of this number is on a host."""
        cores = self._cores[:, logical_core] if 0 <= logical_core < self.num_cores_per_replica else ()
        found = [
            index for index, core in enumerate(cores) if self._topology.task_ordinal_at_coordinates(core) == task_id
        ]
        if not found:
            raise ValueError(
                f"lookup_replicas() got task_id={task_id} and logical_core={logical_core}; expected a host on which a replica has "
                f"this logical device. There are {self._topology.num_tasks} hosts, and {self.num_cores_per_replica} logical "
                f"devices for each replica."
            )
        return found

    def tpu_ordinal(self, replica: int = 0, logical_core: int = 0) -> int:
        """The number, on its host, of a logical device."""
        return self._topology.tpu_device_ordinal_at_coordinates(self.coordinates(replica, logical_core))

    def host_device(self, replica: int = 0, logical_core: int = 0, job: str | None = None) -> str:
        """The name of the CPU of the host of a logical device."""
        return self._topology.cpu_device_name_at_coordinates(self.coordinates(replica, logical_core), job)

    def tpu_device(self, replica: int = 0, logical_core: int = 0, job: str | None = None) -> str:
        """The name of a logical device."""
        return self._topology.tpu_device_name_at_coordinates(self.coordinates(replica, logical_core), job)


def mesh_shape(tpus: int | tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape (x, y, z, core) of a mesh, given itself or as a number of cores: twos, from the last axis on.

    >>> [mesh_shape(count) for count in (2, 8, 12, 32, 3)]
    [(1, 1, 1, 2), (1, 2, 2, 2), (3, 1, 2, 2), (4, 2, 2, 2), (3, 1, 1, 1)]
    """
    if isinstance(tpus, tuple):
        if len(tpus) != RANK or not all(_is_count(size) and size > 0 for size in tpus):
            raise ValueError(
                f"tpus is {tpus!r}; expected {RANK} ints of at least 1: x, y, z and the cores of a chip. Write for example "
                f"(1, 2, 2, 2), or the number of cores."
            )
        return tpus
    if not _is_count(tpus):
        raise ValueError(f"tpus is {tpus!r}; expected an int of at least 0, or a shape. Give the number of cores.")
    sizes: list[int] = []
    for _ in range(RANK - 1):
        sizes.insert(0, 2 if tpus and tpus % 2 == 0 else 1)
        tpus //= sizes[0]
    return (tpus, *sizes)


def host_count(cores: int) -> int:
    """Return how many hosts can share so many cores evenly, with at most eight each.

    >>> [host_count(cores) for cores in (0, 1, 8, 12, 16)]
    [0, 1, 1, 2, 2]
    """
    least = -(-cores // CORES_PER_HOST)
    return next(hosts for hosts in range(least, cores + 1) if not hosts or cores % hosts == 0)


def whole_mesh(shape: Sequence[int], hosts: int) -> Topology:
    """Make the topology of a mesh without gaps, its cores divided among the hosts in order."""
    coordinates = np.array(list(np.ndindex(*shape)), np.int32)
    return Topology(mesh_shape=shape, device_coordinates=coordinates.reshape(hosts, -1, RANK))


def _sizes(name: str, given: Any) -> Array:
    sizes = np.ones(RANK, np.int32) if given is None else np.asarray(given)
    if sizes.shape == (RANK - 1,):
        sizes = np.concatenate([[1], sizes])
    if sizes.shape != (RANK,) or sizes.dtype.kind not in "iu" or (sizes < 1).any():
        raise ValueError(
            f"DeviceAssignment.build() got {name}={given!r}; expected {RANK} ints of at least 1, or the last {RANK - 1} of them. "
            f"Write for example [1, 1, 1, 2]."
        )
    return sizes.astype(np.int32)


def _replica_counts(most: list[int], replicas: int) -> list[int]:
    """Choose how many replicas lie along each axis: about equally many, the tightest axis first, cores before x, y and z."""
    counts, axes = [1] * RANK, sorted(range(RANK), key=lambda axis: (most[axis], (axis + 1) % RANK))
    for left, axis in zip(range(RANK, 0, -1), axes, strict=True):
        counts[axis] = min(math.ceil(replicas ** (1 / left)), most[axis])
        replicas = -(-replicas // counts[axis])
    return counts


def _in_blocks(shape: Array, stride: Array, counts: list[int], replicas: int) -> Array:
    """Order replicas block by block: first along the cores of a chip, then along x, y and z."""
    z_y_x_core = itertools.product(*(range(count) for count in (*reversed(counts[:-1]), counts[-1])))
    places = np.array([(x, y, z, core) for z, y, x, core in itertools.islice(z_y_x_core, replicas)])
    offsets = places // stride * (shape * stride) + places % stride
    inside = np.array(list(np.ndindex(*shape))) * stride
    return offsets[:, None, :] + inside[None, :, :]


def _in_rings(shape: Array, counts: list[int]) -> Array:
    """Order replicas in a ring through the mesh, and the chips of each in a ring through its block."""
    chips, cores = _ring(*shape[:-1].tolist()), int(shape[-1])
    return np.array(
        [
            [
                [*(np.array(outer) * shape[:-1] + inner).tolist(), core]
                for inner, core in itertools.product(chips, range(cores))
            ]
            for outer in _ring(*counts[:-1])
        ]
    )


def _in_task_order(topology: Topology, shape: Array, stride: Array, replicas: int) -> Array:
    """Give each replica the next cores of the hosts, because blocks may not fit around missing cores."""
    cores, wanted = topology.device_coordinates.reshape(-1, RANK), replicas * int(np.prod(shape))
    if wanted > len(cores) or np.prod(stride) != 1:
        raise ValueError(
            f"DeviceAssignment.build() got {replicas} replicas of shape {shape.tolist()} and stride {stride.tolist()} for a mesh "
            f"in which cores are missing; expected no stride, and at most {len(cores)} cores. Ask for less."
        )
    return cores[:wanted].reshape(replicas, -1, RANK)


def _ring(x_size: int, y_size: int, z_size: int) -> list[tuple[int, int, int]]:
    """Walk through all places of a block so that neighbors in the walk, including last and first, are neighbors in the block.

    >>> _ring(2, 2, 1)
    [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]
    """
    sizes = (x_size, y_size, z_size)
    wide = [axis for axis, size in enumerate(sizes) if size > 1]
    if len(wide) <= 1 or any(size > 1 and size % 2 for size in sizes):
        return [(x, y, z) for z in range(z_size) for y in range(y_size) for x in range(x_size)]
    if len(wide) == 2:
        first, second = wide
        flat = [(0, 0), *_open_ring(sizes[first], sizes[second])]
        places = [dict(zip(wide, place, strict=True)) for place in flat]
        return [(place.get(0, 0), place.get(1, 0), place.get(2, 0)) for place in places]
    plane = _open_ring(x_size, y_size)
    walk = [(x, y, z) for z in range(z_size) for x, y in (plane if z % 2 == 0 else reversed(plane))]
    return [(0, 0, 0), *walk, *((0, 0, z) for z in range(z_size - 1, 0, -1))]


def _open_ring(x_size: int, y_size: int) -> list[tuple[int, int]]:
    """Walk through a plane and back to a neighbor of the start, which is left out."""
    there = [(x, y) for y in range(y_size) for x in (range(1, x_size) if y % 2 == 0 else range(x_size - 1, 0, -1))]
    return there + [(0, y) for y in range(y_size - 1, 0, -1)]


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _job(job: str | None) -> str:
    return "" if job is None else f"/job:{job}"


def _require_topology(topology: Any) -> None:
    if not isinstance(topology, Topology):
        raise ValueError(
            f"The topology is a {type(topology).__name__}; expected a tf.tpu.experimental.Topology. Pass what "
            f"tf.tpu.experimental.initialize_tpu_system() returns."
        )


def _require_inside(coordinates: Array, shape: Array, name: str) -> None:
    if (coordinates < 0).any() or (coordinates >= shape).any():
        raise ValueError(
            f"The {name} have coordinates up to {coordinates.reshape(-1, RANK).max(axis=0).tolist()}; expected each inside the "
            f"mesh of shape {shape.tolist()}, from 0. Correct them."
        )
