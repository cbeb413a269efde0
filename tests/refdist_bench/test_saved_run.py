import json

import pytest

from refdist_bench.benchmark_case import Goal, Unit, Who
from refdist_bench.saved_run import KEPT_ROUNDS, UnreadableRun, from_json, load, to_json
from tests.refdist_bench.measured_data import measured, result, run


def test_a_run_is_the_same_after_it_was_saved_and_read(tmp_path):
    sides = measured(Who.REFDIST, 1, 2, 3, first=9.0), measured(Who.LIMIT, 0.5, 0.5, 0.5)
    made = run(result("a", *sides, goal=Goal("limit", 6), unit=Unit.BYTES, amount=4.0), result("b", problem="why"))

    made.save(str(tmp_path / "run.json"))

    assert made == load(str(tmp_path / "run.json"))


def test_a_side_of_many_rounds_is_saved_in_few_that_are_paired_as_before():
    ours, theirs = measured(Who.REFDIST, *range(1, 1001)), measured(Who.RAW, *range(2, 2002, 2))
    saved = from_json(json.loads(json.dumps(to_json(run(result("a", ours, theirs))))))
    first, second = (side.rounds for side in saved.results[0].sides)

    assert KEPT_ROUNDS >= len(first) == len(second)
    assert {0.5} == {one / other for one, other in zip(first, second, strict=True)}


def test_the_middle_half_of_rounds_lies_between_the_quartiles():
    assert (2.0, 4.0) == measured(Who.REFDIST, 5, 1, 3, 2, 4).quartiles
    assert (7.0, 7.0) == measured(Who.REFDIST, 7).quartiles
    assert (1.0, 3.0) == (measured(Who.RAW, 5, 1, 3).least, measured(Who.RAW, 5, 1, 3).median)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 99, "surroundings": {}, "results": [], "seconds": 1}'])
def test_a_file_that_is_no_run_is_said_to_be_none(tmp_path, text):
    path = tmp_path / "run.json"
    path.write_text(text)

    with pytest.raises(UnreadableRun, match=r"run\.json was given as a saved run.*expected what"):
        load(str(path))
