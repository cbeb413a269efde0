"""A report counts by area and implementation, fits 80 columns, and survives JSON."""

import json

import pytest
from rich.console import Console

from conformance.report import SCHEMA_VERSION, Report, versions
from conformance.results import Result, Status
from conformance.selection import Selection
from conformance.terminal import render

DETAIL = "expected: [1, 2]\ngot:      [1, 3]\nstrategy: Mirrored with 2 replicas"


def report(*results: Result, complete: bool = True) -> Report:
    return Report(results, 1.5, Selection(("one", "two"), ("RUN",), (), (1, 2)), {"python": "3"}, complete)


MIXED = report(
    Result("RUN-01", "one", 1, Status.PASS),
    Result("RUN-01", "one", 2, Status.UNSUPPORTED, "needs 2 GPUs"),
    Result("RUN-02", "one", 1, Status.PASS),
    Result("RUN-02", "one", 2, Status.FAIL, DETAIL, 0.25),
    Result("VAR-01", "one", None, Status.UNSUPPORTED, "has no check yet"),
    Result("RUN-01", "two", 1, Status.DIVERGES, "it is declared"),
    Result("RUN-02", "two", 1, Status.TIMEOUT, "did not end within 60 s"),
    Result("VAR-01", "two", 1, Status.CRASH, "the process died (signal SIGKILL)"),
)


def text(shown: Report, *, verbose: bool = False) -> str:
    return render(shown, Console(width=80, force_terminal=False), verbose=verbose)


def test_a_behavior_has_the_worst_status_of_its_cases() -> None:
    assert Status.PASS is MIXED.statuses["RUN-01", "one"]
    assert Status.FAIL is MIXED.statuses["RUN-02", "one"]
    assert Status.UNSUPPORTED is MIXED.statuses["VAR-01", "one"]


def test_totals_count_behaviors_not_cases() -> None:
    assert {Status.PASS: 1, Status.FAIL: 1, Status.UNSUPPORTED: 1} == MIXED.totals("one")
    assert {Status.DIVERGES: 1, Status.TIMEOUT: 1} == MIXED.totals("two", "RUN")


def test_the_text_has_a_row_for_each_area_and_fits_80_columns() -> None:
    lines = text(MIXED).splitlines()

    assert ["area", "one", "two"] == lines[0].split()
    assert any(" ".join(line.split()) == "RUN 1 PASS 1 FAIL 1 TIMEOUT 1 DIVERGES" for line in lines)
    assert max(len(line) for line in lines) <= 80
    assert not any("\x1b" in line for line in lines)


def test_the_text_shows_each_finding_with_expected_got_and_command() -> None:
    shown = text(MIXED)

    assert "RUN-02 FAIL on one" in shown
    assert "(replicas 2 of 1, 2)" in shown
    assert "    expected: [1, 2]\n    got:      [1, 3]\n" in shown
    assert "python -m conformance run --impl one -k RUN-02 --replicas 2\n" in shown
    assert "python -m conformance run --impl two -k VAR-01 --replicas 1\n" in shown
    assert "RUN-01 DIVERGES on two" in shown
    assert "1 has no check yet" in shown


def test_the_text_counts_the_reasons_of_what_was_not_run_or_is_expected_to_fail() -> None:
    shown = text(
        report(
            Result("RUN-01", "one", 1, Status.FAIL, DETAIL),
            *(Result(f"RUN-0{number}", "one", 1, Status.NOT_RUN, "needs RUN-01") for number in (2, 3)),
            Result("RUN-04", "one", 1, Status.XFAIL, "it is known"),
            Result("RUN-05", "one", 1, Status.SKIP, "it is slow"),
        )
    )

    assert "NOT RUN on one, by reason\n     2 needs RUN-01\n" in shown
    assert "XFAIL on one, by reason\n     1 it is known\n" in shown
    assert "SKIP on one, by reason\n     1 it is slow\n" in shown
    assert "RUN-02 NOT RUN on" not in shown
    assert shown.endswith("one: 1 FAIL, 2 NOT RUN, 1 XFAIL, 1 SKIP of 5 behaviors\n")


def test_the_text_ends_with_the_totals() -> None:
    expected = [
        "one: 1 PASS, 1 FAIL, 1 UNSUPPORTED of 3 behaviors",
        "two: 1 TIMEOUT, 1 CRASH, 1 DIVERGES of 3 behaviors",
    ]

    assert expected == text(MIXED).splitlines()[-2:]


def test_the_long_text_has_a_row_for_each_behavior() -> None:
    rows = [line.split() for line in text(MIXED, verbose=True).splitlines()]

    assert any(row[:1] == ["RUN-02"] and row[-2:] == ["FAIL", "TIMEOUT"] for row in rows)


def test_the_text_says_when_the_run_was_broken_off() -> None:
    shown = text(report(Result("RUN-01", "one", 1, Status.PASS), complete=False))

    assert "The run was not completed" in shown


def test_brackets_in_details_are_not_taken_for_markup() -> None:
    shown = text(report(Result("RUN-01", "one", 1, Status.FAIL, "got [red]word[/red] [0]")))

    assert "got [red]word[/red] [0]" in shown


def test_a_report_survives_json() -> None:
    assert MIXED == Report.from_json(MIXED.to_json())


def test_the_json_has_the_documented_fields() -> None:
    document = json.loads(MIXED.to_json())

    fields = "schema_version complete seconds selection versions results behaviors totals"
    assert fields.split() == list(document)
    assert SCHEMA_VERSION == document["schema_version"]
    assert {"one": "FAIL", "two": "TIMEOUT"} == document["behaviors"][2]["statuses"]
    assert {"PASS": 1, "FAIL": 1, "UNSUPPORTED": 1} == document["totals"]["one"]
    assert None is document["results"][4]["replicas"]


def test_a_report_of_another_schema_is_refused() -> None:
    with pytest.raises(ValueError, match="schema_version=2"):
        Report.from_json('{"schema_version": 2}')


@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        ([], 5),
        ([Status.PASS, Status.UNSUPPORTED], 0),
        ([Status.UNSUPPORTED, Status.DIVERGES], 0),
        ([Status.UNSUPPORTED, Status.SKIP], 5),
        ([Status.XFAIL, Status.SKIP], 0),
        ([Status.PASS, Status.NOT_RUN], 1),
        ([Status.PASS, Status.FAIL], 1),
        ([Status.ERROR], 1),
        ([Status.TIMEOUT], 1),
        ([Status.FAIL, Status.CRASH], 3),
    ],
)
def test_the_exit_code_follows_the_worst_status(statuses: list[Status], code: int) -> None:
    results = [Result(f"RUN-0{number}", "one", 1, status) for number, status in enumerate(statuses, 1)]

    assert code == report(*results).exit_code()


def test_versions_name_python_and_numpy() -> None:
    assert {"python", "numpy"} <= versions().keys()
