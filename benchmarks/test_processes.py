"""A staged all-reduce over processes, beside the same by hand on jax.distributed; each worker measures both, in turns.

`ratio` is ours to theirs where theirs makes its global array in each step, as a loop does that gets new data; `ratio_of_the_layer`
is the same compiled program with and without what watches over it.
"""

import json
import os
import pathlib
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
    for size, microseconds in found.items():
        ours, layer, theirs, whole = (
            microseconds[name] for name in ("ours", "layer", "theirs", "theirs, with the array")
        )
        benchmark.extra_info[size] = {
            "ratio": round(ours[0] / whole[0], 3),
            "ratio_of_least": round(ours[1] / whole[1], 3),
            "goal": GOALS[size],
            "ratio_of_the_layer": round(layer[0] / theirs[0], 3),
            "goal_of_the_layer": LAYER_GOAL,
            "ours_us": round(ours[0], 1),
            "theirs_us": round(theirs[0], 1),
            "theirs_with_the_array_us": round(whole[0], 1),
        }
