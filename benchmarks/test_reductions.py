"""Reductions of large arrays, compared with a plain stream that reads and writes as many bytes in the same rounds.

`ratio` is the bandwidth of a fold over that of the stream; `goal` is what it should reach on a machine that does nothing else.
"""

import statistics
import time

import ml_dtypes
import numba
import numpy as np
import pytest

from simulator.algorithms.collective_values import value_on
from simulator.algorithms.schedules import ALGORITHMS, schedule_of
from simulator.loops import folding

pytestmark = pytest.mark.tuning

GOALS = {"float32": {2: 0.85, 8: 0.90}, "float16": {}, "bfloat16": {}}
USUAL_GOAL = {"float32": 0.85, "float16": 0.50, "bfloat16": 0.50}
MEGABYTE = 1 << 20


@numba.njit(parallel=True, cache=True)
def stream_two(total, a, b):
    for i in numba.prange(total.size):
        total[i] = a[i] + b[i]


@numba.njit(parallel=True, cache=True)
def stream_four(total, a, b, c, d):
    for i in numba.prange(total.size):
        total[i] = a[i] + b[i] + c[i] + d[i]


@numba.njit(parallel=True, cache=True)
def stream_eight(total, a, b, c, d, e, f, g, h):
    for i in numba.prange(total.size):
        total[i] = a[i] + b[i] + c[i] + d[i] + e[i] + f[i] + g[i] + h[i]


STREAMS = {2: stream_two, 4: stream_four, 8: stream_eight}


def arrays(dtype, count, size_bytes):
    """Make arrays that are rows of one block of memory."""
    rows = np.empty((count, size_bytes // dtype.itemsize), dtype)
    for index, row in enumerate(rows):
        row[:] = 1 + index / 64
    return rows


def seconds(step):
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


@pytest.mark.parametrize("total", ["same", "new"])
@pytest.mark.parametrize(("count", "megabytes"), [(2, 64), (4, 64), (8, 64), (16, 32), (64, 8)])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_reduction(benchmark, dtype, count, megabytes, total):
    benchmark.group = f"reduce {count} arrays of {megabytes} MB into the {total} total"
    rows = arrays(np.dtype(getattr(ml_dtypes, dtype, dtype)), count, megabytes * MEGABYTE)
    result = np.ones_like(rows[0])
    # Beyond eight arrays, eight streams read the same bytes, because more at once slow the memory down.
    streams = rows.view(np.uint32).reshape(min(count, 8), -1)
    stream_total = np.ones_like(streams[0])
    stream_seconds = []

    def stream():
        target = stream_total if total == "same" else np.empty_like(stream_total)
        STREAMS[len(streams)](target, *streams)

    def fold():
        if total == "same":
            folding.fold_into(result, list(rows))
        else:
            folding.fold(list(rows))

    stream()
    fold()
    benchmark.pedantic(fold, setup=lambda: stream_seconds.append(seconds(stream)), rounds=25)
    if benchmark.stats is not None:
        speed = (rows.nbytes + result.nbytes) / benchmark.stats.stats.median
        stream_speed = (streams.nbytes + stream_total.nbytes) / statistics.median(stream_seconds)
        benchmark.extra_info["gigabytes_per_second"] = round(speed / 1e9, 1)
        benchmark.extra_info["stream_gigabytes_per_second"] = round(stream_speed / 1e9, 1)
        benchmark.extra_info["ratio"] = round(speed / stream_speed, 2)
        benchmark.extra_info["goal"] = GOALS[dtype].get(count, USUAL_GOAL[dtype])


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("count", [2, 8, 64])
@pytest.mark.parametrize("total_kilobytes", [128, 256, 512, 1024, 2048, 4096])
@pytest.mark.parametrize("way", ["kernel", "numpy"])
def test_from_where_a_kernel_is_faster(benchmark, dtype, count, total_kilobytes, way):
    benchmark.group = f"{total_kilobytes} KB in {count} arrays of {dtype}"
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    parts = list(arrays(kind, count, total_kilobytes * 1024 // count))
    result = np.empty_like(parts[0])
    if way == "kernel":
        kernel, _ = folding._KERNELS["sum", dtype]
        benchmark(folding._fold_with_kernel, result, parts, kernel)
    else:
        benchmark(folding._fold_in_blocks, result, parts, np.add)


@pytest.mark.parametrize(
    ("algorithm", "dtype"),
    [*((name, "float32") for name in sorted(ALGORITHMS)), ("ring", "float16"), ("ring", "bfloat16")],
)
def test_schedule(benchmark, algorithm, dtype):
    """Compare a schedule played on values with a plain fold of the same arrays in the same rounds."""
    benchmark.group = "play a schedule on 8 arrays of 16 MB"
    rows = list(arrays(np.dtype(getattr(ml_dtypes, dtype, dtype)), 8, 16 * MEGABYTE))
    schedule = schedule_of(algorithm, 8, 4)
    fold_seconds = []
    value_on(schedule, rows)
    folding.fold(rows)
    benchmark.pedantic(
        lambda: value_on(schedule, rows),
        setup=lambda: fold_seconds.append(seconds(lambda: folding.fold(rows))),
        rounds=15,
    )
    if benchmark.stats is not None:
        benchmark.extra_info["times_a_fold"] = round(benchmark.stats.stats.median / statistics.median(fold_seconds), 2)
