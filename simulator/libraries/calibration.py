"""Fits a few numbers of a library to measurements on one machine."""

import dataclasses
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from simulator.libraries.library import PROTOCOLS, Calibration, Launch, Library
from simulator.libraries.library_times import KINDS, in_window, ways
from simulator.machines.fabric import Shape, shape_of
from simulator.machines.topology import Cluster

Array = np.ndarray[Any, Any]
Pairs = Sequence[tuple[float, float]]
_FOLDS = 5
_SCALES = ("latency_scale", "LL bandwidth", "LL128 bandwidth", "Simple bandwidth")  # beside the least time of a call


def calibrated(library: Library, cluster: Cluster, sweep: Any, launch: Launch, collective: str) -> Library:
    """Fit a library to a sweep of sizes, and say how well it holds for sizes that it was not fitted to."""
    if collective not in KINDS:
        raise ValueError(f"The collective is {collective!r}; expected one of {', '.join(KINDS)}. Use one of these.")
    rows = sorted(pairs_of(sweep))
    if len(rows) < _FOLDS:
        raise ValueError(
            f"A sweep of {len(rows)} rows was to be fitted; expected at least {_FOLDS}, of different sizes. Measure more sizes, "
            f"such as nccl-tests does with -b 8 -e 4G -f 2."
        )
    table = _Table.of(library, shape_of(cluster, "calibrated()"), rows, collective)
    folds = np.arange(len(rows)) % _FOLDS
    held_out = [table.picked(folds == fold).errors(table.picked(folds != fold).fitted()) for fold in range(_FOLDS)]
    found = table.fitted()
    least, latency, *bandwidths = (float(one) for one in found)
    # One thread starts all devices of a process, so that with several of them the least time is that of the launches.
    several = launch.gpus_per_process > 1
    floor = {"launch_microseconds": least / launch.gpus_per_process} if several else {"floor_microseconds": least}
    fitted = {**floor, **dict(zip(_SCALES, (latency, *bandwidths), strict=True))}
    error, other = float(table.errors(found).mean()), float(np.concatenate(held_out).mean())
    scales = (bandwidths[0], bandwidths[1], bandwidths[2])
    changed = dataclasses.replace(library, latency_scale=latency, bandwidth_scales=scales, **floor)
    return dataclasses.replace(changed, calibration=Calibration(len(rows), fitted, error, other))


@dataclasses.dataclass(frozen=True)
class _Table:
    """Measured times, and for each of them the latency and the time of the bytes in each way that a library has."""

    seconds: Array
    latency: Array  # rows and ways; without end where the library does not take the way for so many bytes
    moving: Array
    protocol: Array  # of each way

    @classmethod
    def of(cls, library: Library, shape: Shape, rows: Pairs, collective: str) -> "_Table":
        plain = dataclasses.replace(library, latency_scale=1.0, bandwidth_scales=(1.0, 1.0, 1.0))
        found = list(ways(plain, shape, collective))
        parts = np.array([[way.parts(size) for way in found] for size, _ in rows])
        taken = np.array([[in_window(plain, collective, way, size) for way in found] for size, _ in rows])
        protocol = np.array([PROTOCOLS.index(way.protocol) for way in found])
        seconds = np.array([time for _, time in rows])
        return cls(seconds, np.where(taken, parts[:, :, 0], np.inf), parts[:, :, 1], protocol)

    def picked(self, rows: Array) -> "_Table":
        """Some of the rows."""
        return _Table(self.seconds[rows], self.latency[rows], self.moving[rows], self.protocol)

    def times(self, numbers: Array) -> Array:
        """What the library says with these numbers: the least microseconds, and scales."""
        by_way = self.latency * numbers[1] + self.moving / numbers[2:][self.protocol]
        return np.maximum(by_way.min(axis=1), numbers[0] * 1e-6)

    def errors(self, numbers: Array) -> Array:
        """How far each time is off, relative to what was measured."""
        return np.abs(self.times(numbers) / self.seconds - 1)

    def fitted(self) -> Array:
        """Change one number after the other as long as that brings the times closer, in smaller and smaller steps."""
        found = np.array([self.seconds.min() * 1e6, 1.0, 1.0, 1.0, 1.0])

        def badness(numbers: Array) -> float:
            return float(np.abs(np.log(self.times(numbers) / self.seconds)).sum())

        best, step = badness(found), 1.4
        while step > 1.005:
            improved = False
            for place in range(found.size):
                for factor in (step, 1 / step):
                    tried = found.copy()
                    tried[place] *= factor
                    bad = badness(tried)
                    if bad < best - 1e-9:
                        best, found, improved = bad, tried, True
            step = step if improved else step**0.5
        return found


def pairs_of(sweep: Any) -> Pairs:
    """Bytes and seconds: pairs as they are, or the out-of-place times in what nccl-tests has printed, which are in microseconds.

    >>> pairs_of("  1048576  262144  float  sum  -1  46.24  22.68  39.69  0  45.9  22.8  39.9  0")
    [(1048576.0, 4.624e-05)]
    """
    if isinstance(sweep, str):
        found = re.findall(
            r"^\s*(?:\S+:\s+)?(\d+)\s+\d+\s+\w+(?:\s+\w+)?(?:\s+-?\d+)?\s+(\d+(?:\.\d+)?)\s", sweep, re.MULTILINE
        )
        rows = [(float(size), float(time) * 1e-6) for size, time in found if float(size) > 0 and float(time) > 0]
        if not rows:
            raise ValueError(
                "A text without rows of nccl-tests was to be read; expected lines such as '1048576 262144 float sum -1 46.24 22.68 "
                "39.69 ...'. Give all that all_reduce_perf has printed, or pairs of bytes and seconds."
            )
        return rows
    rows = [(float(size), float(seconds)) for size, seconds in sweep]
    if not all(0 < size < math.inf and 0 < seconds < math.inf for size, seconds in rows):
        raise ValueError("A sweep has rows of no bytes or no time; expected both above 0. Give bytes and seconds.")
    return rows
