"""Results as given data."""

from refdist_bench.benchmark_case import Goal, Unit, Who
from refdist_bench.saved_run import Measured, Result, Run

SURROUNDINGS = {"date": "2026-01-02T03:04:05+00:00", "devices": "4 x cpu", "revision": "abc"}


def measured(who, *rounds, name=None, first=None):
    return Measured(who, name or who.value, first, tuple(map(float, rounds)))


def result(
    name="case", *sides, series=None, replicas=1, unit=Unit.TIME, amount=1.0, goal=None, problem=None, headline=True
):
    given = sides or (measured(Who.REFDIST, 2e-3, 2.2e-3), measured(Who.RAW, 1e-3, 1.1e-3))
    return Result(name, series or name, "group", replicas, "jax", unit, amount, goal, headline, tuple(given), problem)


def run(*results, date=SURROUNDINGS["date"]):
    return Run({**SURROUNDINGS, "date": date}, tuple(results), 12.0)


SLOW = result("slow", goal=Goal("raw", 1.5))
