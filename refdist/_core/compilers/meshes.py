"""How JAX lays a tensor over the logical devices of a replica."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

AXIS = "replica"


def sharding(devices: Sequence[Any], partition: Sequence[int] | None) -> NamedSharding:
    """Put the whole tensor on each device; or cut it as the partition says, and put the k-th piece on the k-th device."""
    sizes = [factor for count in partition or [len(devices)] for factor in _prime_factors(count)]
    names = tuple(f"l{index}" for index in range(len(sizes)))
    mesh = Mesh(np.array(devices, object).reshape(sizes), names)
    return NamedSharding(mesh, _spec(dict(zip(names, sizes, strict=True)), partition))


def mesh_of(devices: Sequence[Any], replicas: int, logical: int) -> Mesh:
    """The devices of all replicas: an axis for the replicas, and one for each prime factor of their logical devices."""
    sizes = _prime_factors(logical)
    names = (AXIS, *(f"l{index}" for index in range(len(sizes))))
    return Mesh(np.array(devices, object).reshape(replicas, *sizes), names)


def manual(mesh: Mesh) -> AbstractContextManager[Any]:
    """Enter, in a trace, the surroundings of a program that is spread over the replicas of a mesh."""
    return jax.sharding.use_abstract_mesh(mesh.abstract_mesh.update_axis_types({AXIS: AxisType.Manual}))


def constrained(tensor: Any, count: int, partition: Sequence[int] | None) -> Any:
    """Ask the compiler for a layout, if a mesh with axes for this many logical devices is in scope: l0, l1 and so on."""
    factors = _prime_factors(count)
    mesh = jax.sharding.get_abstract_mesh()
    axes = {name: mesh.shape[name] for name in (f"l{index}" for index in range(len(factors))) if name in mesh.shape}
    if not factors or sorted(axes.values()) != factors:
        return tensor
    return jax.lax.with_sharding_constraint(tensor, _spec(axes, partition))


def _spec(axes: dict[str, int], partition: Sequence[int] | None) -> PartitionSpec:
    """Which axes of the mesh cut each dimension: for each prime factor of its count, the next axis of that size."""
    left = list(axes.items())

    def take(size: int) -> str:
        position = next(position for position, (_, other) in enumerate(left) if other == size)
        return left.pop(position)[0]

    return PartitionSpec(*(tuple(map(take, _prime_factors(count))) or None for count in partition or ()))


def _prime_factors(count: int) -> list[int]:
    """The prime factors of a number, in order.

    >>> _prime_factors(12)
    [2, 2, 3]
    """
    for factor in range(2, count + 1):
        if count % factor == 0:
            return [factor, *_prime_factors(count // factor)]
    return []
