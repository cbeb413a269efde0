"""Several reports are read as one, over time, and as files of expected failures."""

import pathlib

import pytest

from conformance.__main__ import main
from conformance.merged_reports import merged
from conformance.report import Report, reproduction
from conformance.results import Result, Status
from conformance.selection import Selection
from tests.conformance.test_main import RUN


def report(*statuses: str, name: str = "mine", date: str = "2026-01-01T00:00:00Z", complete: bool = True) -> Report:
    results = [Result(f"RUN-0{number}", name, 1, Status[status], "why") for number, status in enumerate(statuses, 1)]
    certified = {name: {"date": date, "version": "1.0"}}
    return Report(tuple(results), 1.5, Selection((name,)), {"python": "3"}, complete, certified)


def test_what_several_reports_call_alike_gets_their_labels() -> None:
    both = merged({"a": report("PASS"), "b": report("FAIL"), "c": report("PASS", name="other")})

    assert ("mine [a]", "mine [b]", "other") == both.implementations
    assert {"mine [a]", "mine [b]", "other"} == set(both.certified)
    assert "python -m conformance run --impl mine -k RUN-01 --replicas 1" == reproduction(
        both.selection, both.results[1]
    )


def test_reports_make_one_page_with_a_record_beside_them(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, status in (("old", "PASS"), ("new", "FAIL")):
        (tmp_path / f"{name}.json").write_text(report(status).to_json())

    files = [str(tmp_path / name) for name in ("old.json", "new.json", "page.html")]
    assert 1 == main(["report", *files[:2], "recorded:tensorflow", "--html", files[2]])

    page = (tmp_path / "page.html").read_text()
    assert all(name in page for name in ("mine [old]", "mine [new]", "recorded:tensorflow", "tensorflow-cpu 2.21.0"))
    assert "mine [new]: 1 FAIL" in capsys.readouterr().out


def test_history_is_in_the_order_of_the_dates_and_says_what_was_gained_and_lost(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "late.json").write_text(report("FAIL", "PASS", date="2026-02-02T00:00:00Z").to_json())
    (tmp_path / "early.json").write_text(report("PASS", "FAIL").to_json())

    assert 0 == main(["history", str(tmp_path / "late.json"), str(tmp_path / "early.json")])

    output = capsys.readouterr().out
    assert output.index("early") < output.index("late")
    assert "late gained RUN-02" in output
    assert "late lost RUN-01" in output


def test_expected_failures_are_written_from_a_report_without_a_run(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, source = tmp_path / "xfails", tmp_path / "report.json"
    source.write_text(report("PASS", "FAIL", "XFAIL", name="no.such:object").to_json())
    file.write_text("RUN-01 # was broken\nRUN-03 # my reason\n")

    assert 0 == main(["update-xfails", str(file), "--from", str(source)])
    assert "RUN-03 # my reason\nRUN-02  # why\n" == file.read_text()
    source.write_text(report("PASS", complete=False).to_json())
    assert 2 == main(["update-xfails", str(file), "--from", str(source)])
    assert "an incomplete report of mine" in capsys.readouterr().err


def test_each_implementation_has_its_own_files(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a").write_text("RUN-02@1 # known\n")
    (tmp_path / "b").write_text("RUN-03 # known\n")
    places = [f"tests.conformance.fake:{name}" for name in ("fake", "plain")]
    chosen = ["-k", "RUN-02", "-k", "RUN-03", "--replicas", "1", "--impl", places[1]]
    files = [word for place in places for name in ("a", "b") for word in ("--xfail", f"{place}={tmp_path / name}")]

    assert 0 == main([*RUN, *chosen, *files])
    assert 1 == main([*RUN, *chosen, *files[:4]])
    assert 2 == main([*RUN, *chosen, "--xfail", str(tmp_path / "a")])
    assert 2 == main([*RUN, *chosen, *files, *files[:2]])
    assert "expected it once" in capsys.readouterr().err


def test_a_page_without_its_library_is_refused_before_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)

    assert 2 == main([*RUN, "-k", "RUN-01", "--html", "page.html"])
    assert "pip install jinja2" in capsys.readouterr().err
