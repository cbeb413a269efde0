"""Every hypothesis strategy of the test suite, called generators here."""

import ml_dtypes
import numpy as np
from hypothesis import strategies as generators
from hypothesis.extra import numpy as arrays

DTYPES = [np.dtype(name) for name in ("float32", "float64", "float16", "int32", "int64")] + [
    np.dtype(ml_dtypes.bfloat16)
]


def replica_counts(largest=9):
    return generators.integers(1, largest)


def dtypes():
    return generators.sampled_from(DTYPES)


def shapes(largest=5, min_dims=0):
    return arrays.array_shapes(min_dims=min_dims, max_dims=3, min_side=0, max_side=largest) | (
        generators.just(()) if min_dims == 0 else generators.nothing()
    )


@generators.composite
def values(draw, dtype=None, shape=None):
    """One array of small numbers, of which sums are not exact in the narrow dtypes."""
    chosen = draw(dtypes()) if dtype is None else dtype
    size = draw(shapes()) if shape is None else shape
    numbers = draw(arrays.arrays(np.float64, size, elements=generators.floats(-99, 99, width=32)))
    return numbers.astype(chosen)


@generators.composite
def alike(draw, count=None, dtype=None):
    """Several arrays of one shape and dtype: what the replicas bring to a reduction."""
    number = draw(replica_counts()) if count is None else count
    chosen, size = draw(dtypes()) if dtype is None else dtype, draw(shapes())
    return [draw(values(chosen, size)) for _ in range(number)]


@generators.composite
def nests(draw, leaves=None):
    """A nest of tuples, lists and dicts."""
    return draw(
        generators.recursive(
            leaves or generators.integers(0, 9),
            lambda inner: (
                generators.lists(inner, max_size=3)
                | generators.lists(inner, max_size=3).map(tuple)
                | generators.dictionaries(generators.sampled_from("abc"), inner, max_size=3)
            ),
            max_leaves=6,
        )
    )
