import pytest

from refdist_bench.benchmark_case import Goal, Who
from refdist_bench.goals import figure, found_words, is_met, paired_ratio
from tests.refdist_bench.measured_data import measured, result


def test_a_ratio_is_that_of_rounds_which_met_the_same_machine():
    # Both sides are slowed down tenfold in the last two rounds; medians by themselves would say 0.2.
    ours, theirs = measured(Who.REFDIST, 2, 2, 2, 20, 20), measured(Who.RAW, 1, 1, 10, 10, 10)

    assert 2.0 == paired_ratio(ours, theirs)


@pytest.mark.parametrize(
    ("goal", "found", "met"),
    [
        (Goal("raw", 2.0), 2.0, True),
        (Goal("raw", 1.9), 2.0, False),
        (Goal("limit", 3.0), 4.0, False),
        (Goal("tensorflow", 0.5), 0.5, True),
        (Goal("share", 0.25), 0.25, True),
        (Goal("share", 0.5), 0.25, False),
        (Goal("over_seconds", 1.9), 2.0, False),
        (Goal("own", 4.0), 4.0, True),
    ],
)
def test_a_goal_is_about_its_figure(goal, found, met):
    sides = (
        measured(Who.REFDIST, 4, 4),
        measured(Who.RAW, 2, 2),
        measured(Who.TENSORFLOW, 8, 8),
        measured(Who.LIMIT, 1, 1),
    )
    one = result("a", *sides, goal=goal)

    assert found == figure(one)
    assert met is is_met(one)


def test_nothing_is_said_about_a_goal_whose_peer_was_not_measured():
    one = result("a", measured(Who.REFDIST, 1), goal=Goal("raw", 1.0))

    assert is_met(one) is None
    assert "" == found_words(one)


def test_what_was_found_has_the_unit_of_the_goal():
    one = result("a", measured(Who.REFDIST, 42e-6), measured(Who.RAW, 30e-6), goal=Goal("over", 10e-6))

    assert "12 us more" == found_words(one)
