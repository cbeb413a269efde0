import pytest

from refdist_bench.bench_table import lines, markdown, row, shown
from refdist_bench.benchmark_case import Goal, Unit, Who
from refdist_bench.cases.all_cases import all_cases
from refdist_bench.saved_run import Result
from refdist_bench.settings import Settings
from tests.refdist_bench.measured_data import SLOW, measured, result, run


@pytest.mark.parametrize(
    ("seconds", "unit", "amount", "words"),
    [
        (1.0, Unit.TIME, 1, "1.00 s"),
        (0.9999, Unit.TIME, 1, "1.00 s"),
        (99.96e-3, Unit.TIME, 1, "100 ms"),
        (3e-10, Unit.TIME, 1, "0.30 ns"),
        (0.0, Unit.TIME, 1, "0"),
        (0.5, Unit.ITEM_RATE, 1e6, "2.00 M/s"),
        (7730 * 4, Unit.BYTES, 4, "7.73 kB"),
    ],
)
def test_figures_have_three_digits_and_a_sensible_unit(seconds, unit, amount, words):
    assert words == shown(seconds, unit, amount)


def test_all_cases_fit_into_one_table_of_forty_lines_and_a_hundred_columns():
    cases = all_cases(Settings())
    sides = tuple(measured(who, 0.123e-3, 0.123e-3) for who in Who)
    table = lines(run(*(Result.of(case, sides, problem="it\nfailed " * 30) for case in cases)))

    assert len(cases) > 60
    assert len(table) < 40
    assert max(map(len, table)) <= 100
    assert {case.name for case in cases if case.headline} <= {line[:32].rstrip() for line in table[2:-2]}


def many(slow):
    """More results than a table has rows for; the first ones are headlines, and the last ones miss their goals."""
    sides = measured(Who.REFDIST, 2, 2), measured(Who.RAW, 1, 1)
    goals = [Goal("raw", 1.5 if 60 - slow <= number else 5.0) for number in range(60)]
    return [result(f"case-{number}", *sides, headline=number < 20, goal=goal) for number, goal in enumerate(goals)]


def test_no_missed_goal_is_left_out_for_want_of_room():
    table = lines(run(*many(slow=18)))

    assert [*range(17), *range(42, 60)] == [int(line.split()[0][5:]) for line in table[2:-1]]
    assert table[-1].startswith("42 of 60 goals met, missed ones marked !. 25 more cases in --json")


def test_missed_goals_beyond_the_rows_are_counted():
    table = lines(run(*many(slow=38)))

    assert "25 more cases, 3 missed, in --json" in table[-1]


def test_few_cases_all_have_a_row_headline_or_not():
    table = lines(run(result("one"), result("two", headline=False)))

    assert ["one", "two"] == [line.split()[0] for line in table[2:4]]


def test_a_missed_goal_is_marked_and_counted():
    table = lines(run(SLOW, result("quick", goal=Goal("raw", 5.0))))

    assert table[2].endswith("!<=1.5x raw")
    assert table[3].endswith("  <=5x raw")
    assert "1 of 2 goals met" in table[-1]


def test_the_table_shows_the_first_of_several_peers_and_its_ratio():
    peers = measured(Who.RAW, 1, 1, name="first"), measured(Who.RAW, 4, 4, name="second")

    assert ("a", "2.00 s", "1.00 s", "", "", "2.00x", "", "") == row(
        result("a", measured(Who.REFDIST, 2, 2), *peers)
    ).cells


def test_a_case_that_failed_says_so():
    failed = Result("broken", "broken", "group", 1, "jax", Unit.TIME, 1.0, None, True, (), "RuntimeError: no")
    table = lines(run(failed))

    assert "failed" in table[2]
    assert "broken: RuntimeError: no" in table[-1]


def test_a_document_has_all_cases_and_where_they_were_measured():
    text = markdown(run(SLOW, result("a|b", headline=False)))

    assert "devices 4 x cpu" in text
    assert "| slow | 2.10 ms | 1.05 ms |  |  | 2.00x |  | ≤1.5x raw **missed: 2x raw** |" in text
    assert "| a\\|b |" in text
