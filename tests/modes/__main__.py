"""Run many programs by hand: `python -m tests.modes 50000 --seed 1`.

Programs run in blocks, each in a process of its own, so that one that kills its process is found and told too.
On workers in processes: `python -m tests.modes 300 --processes 2x1`.
"""

import argparse
import os
import subprocess
import sys
import time

os.environ["JAX_NUM_CPU_DEVICES"] = "8"
os.environ["JAX_PLATFORMS"] = "cpu"

from tests.children import ROOT
from tests.modes.differences import MODES, WORKERS, Mode
from tests.modes.net import fallen, program_of, program_of_workers, smallest
from tests.modes.processes import Cluster, disagreements_of_processes, program_of_processes
from tests.modes.program import printed

NAMES = {str(mode): mode for mode in (*MODES, *WORKERS)}
BLOCK = 500


def main() -> int:
    """Run the programs of some seeds in some modes, and say which of them fell."""
    parser = argparse.ArgumentParser(prog="python -m tests.modes", description=__doc__)
    parser.add_argument("count", type=int, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="the first of their seeds are a million times this")
    parser.add_argument("--mode", action="append", choices=NAMES, help="one of the modes; may be repeated; else all")
    parser.add_argument(
        "--processes",
        metavar="WxD",
        help="run them on W workers in processes, with D devices each, instead of in modes",
    )
    parser.add_argument("--block", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.block:
        return _block(asked.seed, asked.count, NAMES[asked.mode[0]])
    if asked.processes:
        return _in_processes(asked.seed * 1_000_000, asked.count, Cluster(*map(int, asked.processes.split("x"))))
    first, began, total = asked.seed * 1_000_000, time.monotonic(), 0
    for start in range(first, first + asked.count, BLOCK):
        count = min(BLOCK, first + asked.count - start)
        found = sum(_guarded(start, count, name) for name in asked.mode or NAMES)
        total += found
        done = start + count - first
        print(f"{done} programs, {total} fell, {time.monotonic() - began:.0f} s", flush=True)
    return min(total, 1)


def _block(start: int, count: int, mode: Mode) -> int:
    found = list(fallen(range(start, start + count), mode))
    for one in found:
        print(one if one.mode.workers else smallest(one), flush=True)
    return min(len(found), 100)


def _in_processes(start: int, count: int, cluster: Cluster) -> int:
    os.environ["REFDIST_DEVICES_PER_WORKER"] = str(cluster.devices)  # of the workers that this process plays
    programs = [program_of_processes(seed, cluster) for seed in range(start, start + count)]
    found = 0
    for one in disagreements_of_processes(programs, cluster, ["eager", "around"]):
        print(one, flush=True)
        found += 1
    print(f"{count} programs, {found} fell", flush=True)
    return min(found, 1)


def _guarded(start: int, count: int, name: str) -> int:
    """Run a block in another process; where that dies, look for the program that killed it."""
    command = [sys.executable, "-m", "tests.modes", str(count), "--seed", str(start), "--mode", name, "--block"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    print(ended.stdout, end="", flush=True)
    if 0 <= ended.returncode <= 100 and "Traceback" not in ended.stderr:
        return ended.returncode
    if count > 1:
        return _guarded(start, count // 2, name) + _guarded(start + count // 2, count - count // 2, name)
    program = program_of_workers(start)[0] if NAMES[name].workers else program_of(start)
    print(f"{name}: ended with {ended.returncode}\n{ended.stderr[-2000:]}\n{printed(program)}", flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main())
