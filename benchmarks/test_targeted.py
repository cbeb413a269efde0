"""Single parts, compared with the fastest plain way to do the same."""

import numpy as np
import pytest

from simulator.loops import folding

pytestmark = pytest.mark.tuning


def arrays(count, size):
    return [np.full(size, index, np.float32) for index in range(count)]


def with_numpy(parts):
    total = parts[0].copy()
    for part in parts[1:]:
        np.add(total, part, out=total)
    return total


@pytest.mark.parametrize("way", ["kernels", "numpy"])
@pytest.mark.parametrize(("count", "size"), [(8, 1 << 10), (8, 1 << 14), (8, 1 << 20), (64, 1 << 16)])
def test_fold(benchmark, way, count, size):
    benchmark.group = f"fold {count} arrays of {size} float32"
    parts = arrays(count, size)
    benchmark({"kernels": folding.fold, "numpy": with_numpy}[way], parts)
