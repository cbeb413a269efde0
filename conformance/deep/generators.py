"""What the laws draw: strategies, shapes, types, and numbers whose sums are all exact."""

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as generators
from hypothesis.extra import numpy as arrays

from conformance.deep import Draw
from conformance.expectations import Unsupported
from conformance.world import World

FLOATS = ("float32", "float64", "float16")
NUMBERS = (*FLOATS, "int32", "int64")
KINDS = ("Mirrored", "Mirrored.v1", "CentralStorage", "CentralStorage.v1")
LARGEST = 4
"""The largest number: the sums in a law are exact even in float16."""


def strategy(world: World, draw: Draw) -> Any:
    """Draw a strategy to which the behavior applies, with at most as many replicas as the case has."""
    count = draw("replicas", generators.integers(1, world.replicas))
    kind = draw("kind", generators.sampled_from([kind for kind in KINDS if kind in world.behavior.applies_to]))
    try:
        return world.strategy(kind, count)
    except Unsupported:
        return world.strategy("Mirrored", count)


def shapes(*, smallest_rank: int = 0) -> Any:
    """Draw the shape of an array, which may have no elements."""
    return arrays.array_shapes(min_dims=smallest_rank, max_dims=3, min_side=0, max_side=3)


def array(shape: tuple[int, ...], dtype: str) -> Any:
    """Draw an array of small whole numbers."""
    whole = generators.integers(-LARGEST, LARGEST)
    return arrays.arrays(np.int64, shape, elements=whole).map(lambda drawn: drawn.astype(dtype))


def one_array_per_replica(
    draw: Draw, count: int, *, smallest_rank: int = 0, dtypes: tuple[str, ...] = NUMBERS
) -> list[npt.NDArray[Any]]:
    """Draw one array for each replica, all of one shape and type."""
    shape = draw("shape", shapes(smallest_rank=smallest_rank))
    dtype = draw("dtype", generators.sampled_from(dtypes))
    return list(draw("values", array((count, *shape), dtype)))


def batches(draw: Draw, count: int, *, dtypes: tuple[str, ...] = NUMBERS) -> list[npt.NDArray[Any]]:
    """Draw a part of a batch for each replica, of different sizes and at least one example in all."""
    sizes = draw("sizes", generators.lists(generators.integers(0, 3), min_size=count, max_size=count).filter(any))
    dtype = draw("dtype", generators.sampled_from(dtypes))
    examples = draw("examples", array((sum(sizes), 2), dtype))
    return np.split(examples, np.cumsum(sizes)[:-1])


def nests(leaves: Any) -> Any:
    """Draw a nest of tuples, lists and dicts; none of them is empty, because an empty one holds no value."""
    inner = generators.deferred(lambda: nest)
    nest = (
        leaves
        | generators.lists(inner, min_size=1, max_size=2)
        | generators.lists(inner, min_size=1, max_size=2).map(tuple)
        | generators.dictionaries(generators.sampled_from("abc"), inner, min_size=1, max_size=2)
    )
    return nest
