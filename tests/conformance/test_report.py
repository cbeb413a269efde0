"""A report counts by area and implementation, fits 80 columns, and survives JSON."""

import contextlib
import json
import pathlib
from importlib import resources
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as generators
from jsonschema import Draft202012Validator
from rich.console import Console

from conformance.catalogue import LEVELS, load
from conformance.printable import TEXT_LIMIT
from conformance.report import SCHEMA_VERSION, Report, reproduction, versions
from conformance.results import Result, Status
from conformance.selection import Selection
from conformance.terminal import COLOURS, SHOWN, render
from tests.markup import cells, heads, parsed

ROOT = pathlib.Path(__file__).parents[2]
DETAIL = "expected: [1, 2]\ngot:      [1, 3]\nstrategy: Mirrored with 2 replicas"


def report(*results: Result, complete: bool = True) -> Report:
    return Report(results, 1.5, Selection(("one", "two"), ("RUN",), (), (1, 2)), {"python": "3"}, complete)


def json_values() -> generators.SearchStrategy[Any]:
    leaves = generators.none() | generators.booleans() | generators.integers() | generators.floats() | generators.text()
    return generators.recursive(
        leaves,
        lambda values: generators.lists(values) | generators.dictionaries(generators.text(), values),
        max_leaves=5,
    )


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
    wrapped = [line for line in lines if not line.lstrip().startswith(("https://", "check: ", "python -m "))]
    assert max(map(len, wrapped)) <= 80
    assert not any("\x1b" in line for line in lines)


def test_the_text_shows_each_finding_with_expected_got_and_command() -> None:
    shown = text(MIXED)

    assert "RUN-02 FAIL on one" in shown
    assert "(replicas 2 of 1, 2)" in shown
    assert "    expected: [1, 2]\n    got:      [1, 3]\n" in shown
    assert "python -m conformance run --impl one -k RUN-02 --replicas 2\n" in shown
    assert "python -m conformance run --impl two -k VAR-01 --replicas 1\n" in shown


def test_the_text_says_why_behaviors_are_declared_or_were_not_checked() -> None:
    lines = [" ".join(line.split()) for line in text(MIXED).splitlines()]

    unsupported, diverging = (lines.index(f"{word}, by reason") for word in ("UNSUPPORTED on one", "DIVERGES on two"))
    assert ["1 has no check yet", "VAR-01"] == lines[unsupported + 1 : unsupported + 3]
    assert ["1 it is declared", "RUN-01"] == lines[diverging + 1 : diverging + 3]


def test_of_many_behaviors_with_one_reason_the_first_are_named() -> None:
    ids = [id for id in load() if id.startswith("RUN")][:11]

    shown = text(report(*(Result(id, "one", 1, Status.SKIP, "too long") for id in ids)))

    assert f"{', '.join(ids[:8])} and 3 more" in " ".join(shown.split())


def test_what_is_broken_stands_last_before_the_totals() -> None:
    shown = text(MIXED)

    assert shown.index("by reason") < shown.index("RUN-02 FAIL on one") < shown.index("one: 1 PASS")


def test_implementations_of_the_users_are_named_shortly_above_their_columns() -> None:
    names = ["package.module:first", "package.module:second"]
    shown = report(*(Result("RUN-01", name, 1, Status.PASS) for name in names))
    alike = report(*(Result("RUN-01", name, 1, Status.PASS) for name in ("a:same", "b:same")))

    assert ["area", "first", "second"] == text(shown).splitlines()[0].split()
    assert ["area", "a:same", "b:same"] == text(alike).splitlines()[0].split()


def test_a_detail_cannot_command_the_terminal() -> None:
    shown = text(report(Result("RUN-01", "one", 1, Status.FAIL, "\x1b[2Jgone")))

    assert "\\x1b[2Jgone" in shown


def test_a_long_detail_that_many_share_is_shown_once() -> None:
    long = "\n".join(f"line {number}" for number in range(10))
    results = [Result(id, "one", 1, Status.CRASH, long) for id in ("RUN-01", "RUN-02")]

    shown = text(report(*results), verbose=True)

    assert 1 == shown.count("line 9")
    assert "    line 0 (as above)\n" in shown


def test_every_status_has_a_place_and_a_colour() -> None:
    assert set(Status) == set(SHOWN) == set(COLOURS)
    assert len(Status) == len(SHOWN)


def test_a_case_without_a_check_is_reproduced_without_a_replica_count() -> None:
    result = Result("KERAS-01", "a:b c", None, Status.UNSUPPORTED)

    assert "python -m conformance run --impl 'a:b c' -k KERAS-01" == reproduction(Selection(), result)


def test_a_case_of_values_drawn_at_random_is_reproduced_with_its_seed() -> None:
    result = Result("RUN-01", "one", 2, Status.FAIL)

    assert reproduction(Selection(mode="deep", seed=7), result).endswith("--replicas 2 --mode deep --seed 7")


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

    fields = "schema_version complete seconds selection versions certified results behaviors totals"
    assert fields.split() == list(document)
    assert SCHEMA_VERSION == document["schema_version"]
    assert {"one": "FAIL", "two": "TIMEOUT"} == document["behaviors"][2]["statuses"]
    assert {"PASS": 1, "FAIL": 1, "UNSUPPORTED": 1} == document["totals"]["one"]
    assert None is document["results"][4]["replicas"]


def test_the_json_keeps_to_its_schema() -> None:
    schema = json.loads((resources.files("conformance") / "report.schema.json").read_text(encoding="utf-8"))
    validator = Draft202012Validator(schema)

    Draft202012Validator.check_schema(schema)
    assert [] == list(validator.iter_errors(json.loads(MIXED.to_json())))
    assert [status.value for status in Status] == schema["$defs"]["status"]["enum"]
    assert list(LEVELS) == schema["$defs"]["behavior"]["properties"]["level"]["enum"]


@pytest.mark.parametrize("field", ["schema_version", "complete", "selection", "results", "totals"])
def test_a_document_that_lacks_a_field_breaks_the_schema(field: str) -> None:
    schema = json.loads((resources.files("conformance") / "report.schema.json").read_text(encoding="utf-8"))
    document = json.loads(MIXED.to_json())
    del document[field]

    assert not Draft202012Validator(schema).is_valid(document)


def test_every_field_of_the_json_is_in_the_schema_and_described() -> None:
    schema = json.loads((resources.files("conformance") / "report.schema.json").read_text(encoding="utf-8"))
    document = json.loads(MIXED.to_json())
    described = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    objects = [
        (document, schema),
        (document["selection"], schema["properties"]["selection"]),
        (document["results"][0], schema["$defs"]["result"]),
        (document["behaviors"][0], schema["$defs"]["behavior"]),
    ]

    for values, part in objects:
        assert values.keys() == part["properties"].keys()
        assert [] == [name for name in values if f"`{name}`" not in described]
    assert [] == [status.value for status in Status if f"`{status.value}`" not in described]


def test_fields_that_a_later_release_adds_are_left_out() -> None:
    document = json.loads(MIXED.to_json())
    document["results"][0]["weather"] = document["weather"] = document["selection"]["weather"] = "fine"

    assert MIXED == Report.from_json(json.dumps(document))


def test_fields_that_an_earlier_release_did_not_write_are_empty() -> None:
    document = json.loads(MIXED.to_json())
    for name in ("strategy", "expected", "got"):
        del document["results"][0][name]
    del document["selection"]["seed"]

    assert MIXED == Report.from_json(json.dumps(document))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("results",), {}),
        (("results", 0), []),
        (("results", 0, "id"), 7),
        (("results", 0, "implementation"), None),
        (("results", 0, "replicas"), "1"),
        (("results", 0, "replicas"), True),
        (("results", 0, "status"), {"PASS": 1}),
        (("results", 0, "status"), "SPLENDID"),
        (("results", 0, "detail"), []),
        (("results", 0, "seconds"), float("nan")),
        (("results", 0, "seconds"), 10**400),
        (("seconds",), float("inf")),
        (("seconds",), "1"),
        (("complete",), 1),
        (("versions",), []),
        (("versions", "python"), 3),
        (("selection",), []),
        (("selection", "implementations"), "one"),
        (("selection", "areas"), [7]),
        (("selection", "replicas"), [0]),
        (("selection", "mode"), "slow"),
        (("selection", "mode"), []),
        (("selection", "seed"), "1"),
    ],
)
def test_a_forged_report_is_refused(place: tuple[str | int, ...], value: object) -> None:
    document: Any = json.loads(MIXED.to_json())
    part = document
    for step in place[:-1]:
        part = part[step]
    part[place[-1]] = value

    with pytest.raises(ValueError, match="expected"):
        Report.from_json(json.dumps(document))


@given(json_values())
def test_whatever_stands_in_a_report_is_read_or_refused(value: object) -> None:
    document: Any = json.loads(MIXED.to_json())
    for part in (document, document["results"][0], document["selection"]):
        for name, before in list(part.items()):
            part[name] = value
            with contextlib.suppress(ValueError):
                read = Report.from_json(json.dumps(document)).to_json()

                assert read == Report.from_json(read).to_json()
            part[name] = before


def test_texts_of_results_are_shortened_once() -> None:
    result = Result("RUN-01", "one", 1, Status.FAIL, f"first {'x' * 10_000} last")

    assert len(result.detail) <= TEXT_LIMIT
    assert result.detail.startswith("first xxx")
    assert result.detail.endswith("xxx last")
    assert "characters left out" in result.detail
    assert result == Result.from_dict(result.to_dict())


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


def test_a_notebook_shows_how_many_behaviors_have_which_status():
    results = [Result("RUN-03", "<mine>", 1, Status.PASS), Result("RUN-04", "<mine>", 1, Status.FAIL)]
    page = parsed(report(*results, complete=False))

    assert [["FAIL", "1"], ["PASS", "1"]] == sorted(cells(page))
    assert ["status", "<mine>"] == heads(page)
    assert page.find("caption").text.endswith("of which not all were checked")
