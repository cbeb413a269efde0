"""`python -m refdist_bench.cases.memory_of_devices strategy 20000` prints by how many bytes a process grows for them."""

import gc
import resource
import sys

import refdist as tf
from refdist_bench.cases.eager_cases import OPERATIONS, bare_switches
from refdist_bench.timers import Step


def grown(way: str, count: int) -> int:
    """Return the bytes that a strategy over that many devices takes after a step, or as many bare greenlets."""
    make = OPERATIONS["run, all_reduce"] if way == "strategy" else bare_switches
    make(2)()  # what is loaded and allocated once is there now
    gc.collect()
    before = _resident()
    step: Step = make(count)
    step()
    gc.collect()
    return _resident() - before


def _resident() -> int:
    """Return the bytes of this process; where the system does not say, the most there ever were."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    tf.use("simulator")
    print(grown(sys.argv[1], int(sys.argv[2])))
