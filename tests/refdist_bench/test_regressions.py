import dataclasses

from refdist_bench.benchmark_case import Who
from refdist_bench.own_step import OWN_STEP
from refdist_bench.regressions import changes, lines
from tests.refdist_bench.measured_data import measured, result, run


def test_ratios_are_compared_where_both_have_a_peer_so_that_a_slower_machine_is_no_regression():
    before = run(result("a", measured(Who.REFDIST, 2), measured(Who.RAW, 1)))
    slower_machine = run(result("a", measured(Who.REFDIST, 20), measured(Who.RAW, 10)))
    slower = run(result("a", measured(Who.REFDIST, 30), measured(Who.RAW, 10)))

    assert [1.0] == [one.factor for one in changes(before, slower_machine)]
    assert [1.5] == [one.factor for one in changes(before, slower)]


def test_times_are_compared_where_there_is_no_peer():
    (one,) = changes(run(result("a", measured(Who.REFDIST, 2))), run(result("a", measured(Who.REFDIST, 3))))

    assert ("time", "2.00 s", "3.00 s", 1.5) == (one.measure, one.before, one.now, one.factor)


def test_only_what_became_slower_by_more_than_the_bound_is_a_row():
    before = run(*(result(name, measured(Who.REFDIST, 1)) for name in "abc"))
    now = run(*(result(name, measured(Who.REFDIST, time)) for name, time in zip("abd", (1.05, 1.2, 9), strict=True)))
    found = changes(before, now)

    assert ["b", "a"] == [one.name for one in found]
    assert ["b"] == [line.split()[0] for line in lines(found, 1.1)[2:]]
    assert "none became slower" in lines(found, 1.3)[0]
    assert "nothing was compared" in lines([], 1.1)[0]


def test_an_own_step_is_compared_for_each_number_of_replicas():
    def own(*sides):
        return run(dataclasses.replace(result("own", *sides), group=OWN_STEP))

    before = own(*(measured(Who.REFDIST, 1, name=count) for count in ("1", "2", "4")))
    now = own(measured(Who.REFDIST, 1, name="1"), measured(Who.REFDIST, 3, name="2"))

    assert [("2 x own", 3.0), ("1 x own", 1.0)] == [(one.name, one.factor) for one in changes(before, now)]
