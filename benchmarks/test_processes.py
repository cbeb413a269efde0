"""A staged all-reduce over processes, beside the same by hand on jax.distributed; each worker measures both, in turns.

`ratio` is ours to theirs where theirs makes its global array in each step, as a loop does that gets new data; `ratio_of_the_layer`
is the same compiled program with and without what watches over it.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parent.parent
GOALS = {"1 KB": 1.10, "1 MB": 1.05, "16 MB": 1.05}
LAYER_GOAL = 1.05


@pytest.mark.parametrize("workers", [2, 4])
@pytest.mark.benchmark(group="all_reduce over processes, once around")
def test_all_reduce_beside_one_by_hand(benchmark, workers):
    program = str(ROOT / "benchmarks" / "all_reduce_in_processes.py")
    command = [sys.executable, "-m", "refdist.launch", "--workers", str(workers), "--timeout", "300", program]
    settings = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_NUM_CPU_DEVICES": "1"}
    done = benchmark.pedantic(
        subprocess.run, (command,), {"env": settings, "capture_output": True, "text": True}, rounds=1
    )

    assert 0 == done.returncode, done.stderr
    found = json.loads(done.stdout.splitlines()[-1].partition("] ")[2])
    assert GOALS.keys() == found.keys()
    for size, rounds in found.items():
        benchmark.extra_info[size] = {
            "goal": GOALS[size],
            "goal_of_the_layer": LAYER_GOAL,
            "ratio": compared(rounds["ours"], rounds["theirs, with the array"]),
            "ratio_to_an_array_that_is_there": compared(rounds["ours"], rounds["theirs"]),
            "ratio_of_the_layer": compared(rounds["layer"], rounds["theirs"]),
            "median_us": {name: round(statistics.median(one), 1) for name, one in rounds.items()},
        }


def compared(ours, theirs):
    """The median of the ratios of single rounds, whose calls meet the same machine, and the ratio of the fastest tenths."""
    paired = statistics.median(one / other for one, other in zip(ours, theirs, strict=True))
    low = statistics.quantiles(ours, n=10)[0] / statistics.quantiles(theirs, n=10)[0]
    return {"paired": round(paired, 3), "fastest_tenth": round(low, 3)}
