"""Two reports are compared behavior by behavior, with the reasons of both sides."""

import json
import pathlib
from typing import Any

import pytest
from rich.console import Console

from conformance import catalogue
from conformance.__main__ import main
from conformance.checks import checks
from conformance.comparing import FAIL_ON, Difference, Side, differences, fails, render, side
from conformance.implementations import UnknownName, find
from conformance.implementations.tensorflow import divergences
from conformance.recorded import compact, recorded
from conformance.report import Report
from conformance.results import Result, Status
from conformance.selection import Selection

BEHAVIORS = [catalogue.load()[f"RUN-0{number}"] for number in range(1, 6)]
LONG = "The page says one thing at some length, and the other side does quite another thing for a reason of its own."


def report(*results: Result) -> Report:
    return Report(results, 1.5, Selection(), {"python": "3"})


ONE = Side(
    "one",
    report(
        Result("RUN-01", "a", 1, Status.PASS),
        Result("RUN-02", "a", 1, Status.PASS),
        Result("RUN-03", "a", 1, Status.PASS),
        Result("RUN-04", "a", 1, Status.UNSUPPORTED, "needs a TPU"),
        Result("RUN-05", "a", 1, Status.PASS),
    ),
    "a",
)
OTHER = Side(
    "other",
    report(
        Result("RUN-01", "b", 1, Status.PASS),
        Result("RUN-02", "b", 1, Status.DIVERGES, LONG),
        Result("RUN-03", "b", 1, Status.DIVERGES, LONG),
        Result("RUN-04", "b", 1, Status.PASS),
        Result("RUN-04", "b", 2, Status.FAIL, "expected: 1"),
    ),
    "b",
)


def found(one: Side, other: Side) -> list[tuple[list[str], tuple[str, str]]]:
    def ids(difference: Difference) -> list[str]:
        return [behavior.id for behavior in difference.behaviors]

    return [(ids(difference), difference.reasons) for difference in differences(one, other, BEHAVIORS)]


def text(one: Side, other: Side) -> str:
    return render(one, other, BEHAVIORS, Console(width=80, force_terminal=False))


def test_behaviors_with_equal_statuses_and_reasons_are_one_difference() -> None:
    expected = [
        (["RUN-02", "RUN-03"], ("", LONG)),
        (["RUN-04"], ("needs a TPU", "expected: 1 (replicas 2)")),
        (["RUN-05"], ("", "")),
    ]

    assert expected == found(ONE, OTHER)


def test_a_report_does_not_differ_from_itself() -> None:
    assert [] == found(ONE, ONE)
    assert "They differ in 0 of 5 behaviors." == text(ONE, ONE).splitlines()[-1]


def test_the_text_has_the_gravest_first_and_fits_80_columns() -> None:
    lines = text(ONE, OTHER).splitlines()

    assert max(len(line) for line in lines) <= 80
    headings = [line for line in lines if line.startswith(("one ", "Regression: "))]
    assert [
        "Regression: one UNSUPPORTED, other FAIL: 1 behavior",
        "one PASS, other DIVERGES: 2 behaviors",
        "one PASS, other absent: 1 behavior",
    ] == headings
    assert 1 == " ".join(text(ONE, OTHER).split()).count(LONG), "a shared reason is said once"


def test_the_text_ends_with_the_totals() -> None:
    expected = ["one: 4 PASS, 1 UNSUPPORTED", "other: 1 FAIL, 2 DIVERGES, 1 PASS"]
    expected.append("They differ in 4 of 5 behaviors, 1 of them a regression.")

    assert expected == text(ONE, OTHER).splitlines()[-3:]


def test_a_report_cannot_command_the_terminal() -> None:
    forged = Side("forged", report(Result("RUN-01", "b", 1, Status.FAIL, "\x1b[2Jgone")), "b")

    assert "\\x1b[2Jgone" in text(ONE, forged)


def test_a_side_is_a_file_of_which_one_implementation_may_be_chosen(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "report.json"
    file.write_text(report(*ONE.report.results, *OTHER.report.results).to_json())

    assert ("a", "b") == (side(f"{file}#a", BEHAVIORS).implementation, side(f"{file}#b", BEHAVIORS).implementation)
    for name in (str(file), f"{file}#c"):
        with pytest.raises(UnknownName, match="a report of a, b; expected one implementation"):
            side(name, BEHAVIORS)


@pytest.mark.parametrize("content", ["", "[]", '{"schema_version": 1}', '{"schema_version": 99}'])
def test_a_file_that_is_no_report_is_refused(tmp_path: pathlib.Path, content: str) -> None:
    file = tmp_path / "report.json"
    file.write_text(content)

    assert 2 == main(["diff", str(file)])


def test_a_record_or_an_implementation_that_does_not_exist_is_refused() -> None:
    assert 2 == main(["diff", "recorded:nothing"])
    assert 2 == main(["diff", "nothing"])


def test_an_implementation_that_is_named_is_run_now(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["diff", "-k", "DATASET-36", "-k", "RUN-01"])
    shown = capsys.readouterr().out
    assert "simulator PASS, recorded:tensorflow DIVERGES: 1 behavior" in shown
    assert "They differ in 1 of 2 behaviors." in shown


def test_an_implementation_that_cannot_be_run_breaks_the_comparison(capsys: pytest.CaptureFixture[str]) -> None:
    assert 3 == main(["diff", "tests.conformance.fake:broken", "-k", "RUN-01"])
    assert "cannot be opened" in capsys.readouterr().err


def test_there_must_be_something_to_compare() -> None:
    assert 5 == main(["diff", "-k", "zebra crossing"])


def test_the_command_compares_two_files(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    for each in (ONE, OTHER):
        (tmp_path / each.label).write_text(each.report.to_json())

    compare = ["diff", str(tmp_path / "one"), str(tmp_path / "other"), "--area", "RUN"]
    assert 1 == main(compare)
    assert "They differ in 4 of" in capsys.readouterr().out
    back = ["diff", str(tmp_path / "other"), str(tmp_path / "one"), "--area", "RUN"]
    assert 0 == main(back)


@pytest.mark.parametrize(
    ("statuses", "failing"),
    [
        (("PASS", "FAIL"), {"regression", "lost", "difference"}),
        (("PASS", "NOT_RUN"), {"regression", "lost", "difference"}),
        ((None, "CRASH"), {"regression", "lost", "difference"}),
        (("PASS", "XFAIL"), {"lost", "difference"}),
        (("PASS", None), {"lost", "difference"}),
        (("FAIL", "PASS"), {"difference"}),
        (("FAIL", "CRASH"), {"difference"}),
    ],
)
def test_a_comparison_fails_on_what_was_asked_for(statuses: Any, failing: set[str]) -> None:
    pair = tuple(Status[name] if name else None for name in statuses)

    assert failing == {name for name in FAIL_ON if fails(pair, name)}  # pyright: ignore[reportArgumentType]


def test_the_command_writes_the_differences_for_programs_and_browsers(tmp_path: pathlib.Path) -> None:
    for each in (ONE, OTHER):
        (tmp_path / each.label).write_text(each.report.to_json())
    files = [str(tmp_path / name) for name in ("one", "other", "diff.json", "diff.html")]

    code = main(["diff", *files[:2], "--json", files[2], "--html", files[3], "--fail-on", "nothing", "--area", "RUN"])

    found = json.loads((tmp_path / "diff.json").read_text())
    assert 0 == code
    assert ["RUN-04"] == found["regressions"]
    assert found["differences"][0] == {
        "behaviors": ["RUN-04"],
        "regression": True,
        "old": "UNSUPPORTED",
        "new": "FAIL",
        "old_reason": "needs a TPU",
        "new_reason": "expected: 1 (replicas 2)",
    }
    page = (tmp_path / "diff.html").read_text()
    assert 0 < page.index("Regressions from") < page.index("Other differences from") < page.index("All behaviors")


def test_a_record_reads_as_the_report_that_it_was_made_of() -> None:
    path = "/home/someone/place/python3/module.py"
    made = report(Result("RUN-01", "a", 1, Status.ERROR, f"{path}:7: in f: {'x' * 1000}", 0.25))

    (result,) = Report.from_json(compact(made)).results
    assert ("RUN-01", "a", 1, Status.ERROR) == (result.id, result.implementation, result.replicas, result.status)
    assert result.detail.startswith("module.py:7: in f: xxx")
    assert len(result.detail) < 500


def test_the_record_of_tensorflow_has_every_behavior_that_has_a_check() -> None:
    record = recorded("tensorflow")
    checked = {result.id for result in record.results if result.replicas is not None}

    assert ("tensorflow",) == record.implementations
    assert "2.21.0" == record.versions["tensorflow-cpu"]
    assert set(catalogue.load()) == {result.id for result in record.results}
    assert set() == set(checks()) - checked


def test_the_record_of_tensorflow_has_the_divergences_that_are_declared() -> None:
    diverging = {result.id: result for result in recorded("tensorflow").results if result.status is Status.DIVERGES}

    assert {case.partition("@")[0] for case in divergences()} == set(diverging)
    for result in diverging.values():
        assert find("tensorflow").divergence(result.id, result.replicas or 0) == result.detail


def test_everything_in_the_record_of_tensorflow_conforms_or_has_a_reason() -> None:
    record = recorded("tensorflow")

    assert {Status.PASS, Status.DIVERGES, Status.UNSUPPORTED} == set(record.statuses.values())
    for result in record.results:
        assert result.status is Status.PASS or len(result.detail) > 10, f"{result.id} has a reason"
        assert "/root" not in result.detail
        assert "/home" not in result.detail


def test_the_record_of_tensorflow_is_small() -> None:
    assert len(json.dumps([result.detail for result in recorded("tensorflow").results])) < 500_000
