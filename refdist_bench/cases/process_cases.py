"""All-reduces over two processes, beside the same by hand on jax.distributed; each worker measures both, in turns."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

from refdist_bench.benchmark_case import Case, Goal, Side, Who
from refdist_bench.settings import Settings
from refdist_bench.timers import FigureTimer

WORKERS = 2
SIZES = {"1 KB": 1 << 10, "1 MB": 1 << 20, "16 MB": 1 << 24}
ROUNDS = {"1 KB": 500, "1 MB": 100, "16 MB": 16}
GOALS = {"1 KB": 1.10, "1 MB": 1.05, "16 MB": 1.05}
_NAMED = {"ours": (Who.REFDIST, "refdist"), "theirs, with the array": (Who.RAW, "jax.distributed, jit(shard_map)")}


def process_cases(settings: Settings) -> list[Case]:
    """Return a case for each size."""
    if "jax" not in settings.backends:
        return []
    return [_case(size) for size in SIZES if not settings.quick or size != "16 MB"]


def _case(size: str) -> Case:
    return Case(
        name=f"all_reduce {size}, {WORKERS} processes",
        series="all_reduce in processes",
        group="processes",
        replicas=WORKERS,
        backend="jax",
        goal=Goal("raw", GOALS[size]),
        headline=size != "16 MB",
        together=lambda seconds: _sides(rounds_of(SIZES[size], WORKERS, max(8, int(ROUNDS[size] * min(1, seconds))))),
    )


def _sides(found: Mapping[str, Sequence[float]]) -> dict[Side, Sequence[float]]:
    return {Side(*_NAMED[name], lambda: FigureTimer(float)): found[name] for name in _NAMED}


def rounds_of(size: int, workers: int, rounds: int) -> dict[str, list[float]]:
    """Start workers on this machine, on their processors, and return the seconds that the first one printed."""
    program = ["-m", "refdist_bench.cases.all_reduce_in_processes", str(size), str(rounds)]
    command = [sys.executable, "-m", "refdist.launch", "--workers", str(workers), "--timeout", "300", *program]
    settings = {**os.environ, "JAX_NUM_CPU_DEVICES": "1", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=False, timeout=320)
    if done.returncode:
        raise RuntimeError(f"refdist launch ended with {done.returncode}: {done.stderr.strip()[-400:]}")
    return json.loads(done.stdout.splitlines()[-1].partition("] ")[2])
