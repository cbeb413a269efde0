"""The cases of `refdist bench` under pytest-benchmark: a group for each case, and a row for each of its sides.

A round is a number of calls that is the same for all sides of a case (`calls`). The row of refdist takes turns with the first peer,
and has their `ratio` and the `goal` in its extra_info.
"""

import statistics

import pytest

from refdist_bench.benchmark_case import Who
from refdist_bench.cases.all_cases import all_cases
from refdist_bench.devices_at_hand import real_devices
from refdist_bench.goals import goal_words
from refdist_bench.measuring import calls_of_a_round
from refdist_bench.settings import Settings

ROUNDS = 20
SETTINGS = Settings(devices=len(real_devices()))
# Those without sides are measured by processes of their own, and those of many replicas or new processes take too long for rounds.
CASES = [
    case for case in all_cases(SETTINGS) if case.sides and case.replicas <= 10_000 and case.group != "whole programs"
]
ROWS = [
    pytest.param(case, name, id=f"{case.name}: {name}")
    for case in CASES
    for name in (*(side.name for side in case.sides), *(f"TensorFlow {name}" for name in case.tensorflow))
]
CALLS = {}


@pytest.mark.parametrize(("case", "name"), ROWS)
def test_case(request, benchmark, case, name):
    more = request.getfixturevalue("tensorflow").sides(case) if name.startswith("TensorFlow") else ()
    (side,) = [side for side in (*case.sides, *more) if side.name == name]
    benchmark.group = case.name
    timer = side.start()
    timer.first()
    calls = CALLS.setdefault(case.name, 1 if timer.cold else calls_of_a_round(timer.seconds(1)))
    peers = [one for one in case.sides if one.who is not Who.REFDIST]
    peer = peers[0].start() if peers and side.who is Who.REFDIST else None
    seconds = []
    setup = (lambda: seconds.append(peer.seconds(calls))) if peer else None
    if peer:
        peer.first()

    benchmark.pedantic(timer.seconds, (calls,), setup=setup, rounds=ROUNDS, warmup_rounds=1)

    benchmark.extra_info |= {"calls": calls, "who": str(side.who)}
    if case.goal:
        benchmark.extra_info["goal"] = goal_words(case.goal)
    if peer and benchmark.stats is not None:
        ratio = benchmark.stats.stats.median / statistics.median(seconds[-ROUNDS:])
        benchmark.extra_info |= {"ratio": round(ratio, 3), "ratio_to": peers[0].name}
    timer.close()
