"""A staged all-reduce over processes, beside the same by hand on jax.distributed; each worker measures both, in turns.

`ratio` is ours to theirs where theirs makes its global array in each step, as a loop does that gets new data; `ratio_of_the_layer`
is the same compiled program with and without what watches over it.
"""

import statistics

import pytest

from refdist_bench.cases.process_cases import GOALS, ROUNDS, SIZES, rounds_of

pytestmark = pytest.mark.tuning

LAYER_GOAL = 1.05


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("workers", [2, 4])
@pytest.mark.benchmark(group="all_reduce over processes, once around")
def test_all_reduce_beside_one_by_hand(benchmark, workers, size):
    rounds = benchmark.pedantic(rounds_of, (SIZES[size], workers, ROUNDS[size]), rounds=1)

    benchmark.extra_info |= {
        "goal": GOALS[size],
        "goal_of_the_layer": LAYER_GOAL,
        "ratio": compared(rounds["ours"], rounds["theirs, with the array"]),
        "ratio_to_an_array_that_is_there": compared(rounds["ours"], rounds["theirs"]),
        "ratio_of_the_layer": compared(rounds["layer"], rounds["theirs"]),
        "median_us": {name: round(statistics.median(one) * 1e6, 1) for name, one in rounds.items()},
    }


def compared(ours, theirs):
    """The median of the ratios of single rounds, whose calls meet the same machine, and the ratio of the fastest tenths."""
    paired = statistics.median(one / other for one, other in zip(ours, theirs, strict=True))
    low = statistics.quantiles(ours, n=10)[0] / statistics.quantiles(theirs, n=10)[0]
    return {"paired": round(paired, 3), "fastest_tenth": round(low, 3)}
