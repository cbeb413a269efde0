"""The last run is kept in the cache of the user, one for each folder, and its failures are found again."""

import pathlib

import pytest

from conformance import last
from conformance.implementations import UsageError
from conformance.report import Report
from conformance.results import Case, Result, Status
from conformance.selection import Selection

REPORT = Report(
    (
        Result("RUN-01", "one", 1, Status.PASS),
        Result("RUN-02", "one", 1, Status.FAIL),
        Result("RUN-02", "one", 2, Status.CRASH),
        Result("RUN-03", "one", 2, Status.NOT_RUN),
        Result("RUN-04", "one", 2, Status.XFAIL),
        Result("RUN-05", "one", None, Status.UNSUPPORTED),
        Result("RUN-06", "two", 1, Status.TIMEOUT),
    ),
    1.0,
    Selection(("one", "two")),
    {},
)


def test_a_run_is_kept_for_its_folder_only(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path / "a")
    last.keep(REPORT)

    assert tmp_path / "cache" in last.path().parents
    assert REPORT == last.load(last.path())
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="Make one: `run` keeps its report"):
        last.load(last.path())


def test_without_a_setting_the_cache_is_in_the_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/nowhere")

    assert pathlib.Path("/nowhere/.cache/refdist-conformance") == last.path().parent


@pytest.mark.parametrize("text", ["no JSON", "[]", "{}", '{"schema_version": 99}', "[" * 200_000, "7" * 5_000])
def test_what_is_no_report_is_refused(tmp_path: pathlib.Path, text: str) -> None:
    (tmp_path / "report.json").write_text(text)

    with pytest.raises(UsageError, match="cannot be read as a report"):
        last.load(tmp_path / "report.json")


def test_failed_is_what_is_broken_and_what_was_not_run() -> None:
    assert {Case("RUN-02", 1), Case("RUN-02", 2), Case("RUN-03", 2)} == last.failed(REPORT, "one")
    assert {Case("RUN-06", 1)} == last.failed(REPORT, "two")
    assert set() == last.failed(REPORT, "three")
