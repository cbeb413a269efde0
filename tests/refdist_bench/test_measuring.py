import pytest

from refdist_bench.benchmark_case import Case, Side, Who
from refdist_bench.measuring import disagreement, measure


class GivenTimer:
    """A side that takes as long as it is told, on no clock."""

    def __init__(self, log, name, seconds, *, value=None, cold=False):
        self.log, self.name, self.given, self.value, self.cold = log, name, seconds, value, cold

    def first(self):
        self.log.append(f"first {self.name}")
        return 10 * self.given, self.value

    def seconds(self, calls):
        self.log.append(self.name)
        return calls * self.given

    def close(self):
        self.log.append(f"close {self.name}")


def case(log, *sides):
    made = [
        Side(who, name, lambda one=(name, seconds, more): GivenTimer(log, *one[:2], **one[2]))
        for who, name, seconds, more in sides
    ]
    return Case("case", "case", "group", tuple(made))


def test_each_side_has_a_turn_in_each_round_and_none_always_comes_after_the_same():
    log, names = [], "abc"
    measure(case(log, *[(Who.RAW, name, 0.001, {}) for name in names]), 1.0)
    turns = [name for name in log[log.index("first c") + 1 : log.index("close a")] if name in names]
    rounds = [turns[place : place + 3] for place in range(len(turns) % 3, len(turns), 3)]
    drawn = rounds[3:]  # the first ones find out how long a call takes

    assert len(drawn) > 50
    assert all(sorted(one) == list(names) for one in drawn)
    assert 6 == len({tuple(one) for one in drawn})


def test_sides_that_are_made_several_times_begin_in_both_orders_and_all_rounds_count():
    log, taken = [], iter([0.05, 0.5, 0.5, 0.07])  # each side is made twice
    sides = [Side(Who.RAW, name, lambda name=name: GivenTimer(log, name, next(taken))) for name in "ab"]
    found = measure(Case("case", "case", "group", tuple(sides), makings=2), 1.0)

    assert ["first a", "first b", "first b", "first a"] == [one for one in log if one.startswith("first")]
    assert {0.05, 0.07} == set(found.sides[0].rounds)
    assert {0.5} == set(found.sides[1].rounds)
    assert (0.5, 5.0) == tuple(side.first_seconds for side in found.sides)
    assert 4 == sum(one.startswith("close") for one in log)


def test_what_one_of_several_makings_computes_otherwise_is_no_comparison():
    values = iter([1.0, 1.0, 2.0, 1.0])
    sides = [Side(Who.RAW, name, lambda name=name: GivenTimer([], name, 0.05, value=next(values))) for name in "ab"]

    assert "b 2, a 1" in (measure(Case("case", "case", "group", tuple(sides), makings=2), 1.0).problem or "")


def test_the_first_call_is_a_number_of_its_own():
    found = measure(case([], (Who.REFDIST, "a", 0.05, {})), 0.5)

    assert 0.5 == found.sides[0].first_seconds
    assert {0.05} == set(found.sides[0].rounds)


def test_where_each_call_starts_from_nothing_the_first_is_a_round():
    found = measure(case([], (Who.REFDIST, "a", 0.05, {"cold": True})), 0.5)

    assert found.sides[0].first_seconds is None
    assert 0.5 == found.sides[0].rounds[0]


def test_sides_that_compute_different_numbers_are_no_comparison():
    log = []
    sides = (Who.REFDIST, "a", 0.05, {"value": 1.0}), (Who.RAW, "b", 0.05, {"value": 2.0})

    assert "different numbers in their first step (a 1, b 2)" in (measure(case(log, *sides), 0.1).problem or "")
    assert disagreement({"a": 1.0, "b": 1.001, "c": None}) is None
    assert disagreement({"a": 1.0, "b": float("nan")})


@pytest.mark.parametrize("broken", ["first", "seconds"])
def test_a_side_that_fails_is_the_problem_of_its_case_and_all_are_closed(monkeypatch, broken):
    def fail(*_):
        raise RuntimeError("no memory")

    monkeypatch.setattr(GivenTimer, broken, fail)
    log = []
    found = measure(case(log, (Who.REFDIST, "a", 0.05, {}), (Who.RAW, "b", 0.05, {})), 0.1)

    assert ("RuntimeError: no memory", ()) == (found.problem, found.sides)
    assert "close a" in log
