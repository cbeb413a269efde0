"""Whatever an implementation does, the run ends, its report is printed, and nothing of it stays behind."""

import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Generator
from typing import Any

import pytest

from conformance.__main__ import main
from conformance.report import Report
from conformance.results import Result
from conformance.runner import Job, NotStarted, run
from tests.conformance.hostile import FORGED_IDS, PLACE

ROOT = pathlib.Path(__file__).parents[2]
CHOSEN = ("RUN-13", "RUN-14")
CASES = [("RUN-13", 1), *(("RUN-14", count) for count in (1, 2, 3))]
AFTER = [("RUN-14", count, "PASS") for count in (1, 2, 3)]


def played(implementation: str, checks: str, *ids: str, **options: Any) -> list[Result]:
    """Run RUN-13, which is hostile, and then what is not."""
    return list(run(Job(f"{PLACE}:{implementation}", ids or CHOSEN, checks=f"{PLACE}:{checks}", **options)))


def cases(results: list[Result] | tuple[Result, ...]) -> list[tuple[str, int | None, str]]:
    return [(result.id, result.replicas, result.status.value) for result in results]


@pytest.mark.parametrize(
    ("module", "status", "says"),
    [
        ("import threading; threading.Event().wait()", "TIMEOUT", "did not end within 1 s"),
        ("import os; os._exit(0)", "CRASH", "exit code 0"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "CRASH", "signal SIGSEGV"),
        ("import sys; sys.exit(0)", "ERROR", "SystemExit: 0"),
        ("raise RuntimeError('x' * 30_000_000)", "ERROR", "characters left out"),
        ("print('last words', flush=True); import os; os._exit(3)", "CRASH", "last words"),
    ],
)
def test_an_implementation_that_cannot_be_imported_gets_a_report_that_says_so_for_every_case(
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    module: str,
    status: str,
    says: str,
) -> None:
    (tmp_path / "hostile_module.py").write_text(module)
    monkeypatch.syspath_prepend(str(tmp_path))
    file = tmp_path / "report.json"
    selected = ["--impl", "hostile_module:found", "--checks", f"{PLACE}:passing", "-k", "RUN-13", "-k", "RUN-14"]

    code = main(["run", *selected, "--start-timeout", "1" if status == "TIMEOUT" else "60", "--json", str(file)])

    report, output = Report.from_json(file.read_text()), capsys.readouterr()
    assert 3 == code
    assert [(*case, status) for case in CASES] == cases(report.results)
    assert all("at import: " in result.detail and says in result.detail for result in report.results)
    assert f"hostile_module:found: 2 {status} of 2 behaviors\nThe run was not completed" in output.out
    assert "hostile_module:found could not be started" in output.err
    assert not report.complete


@pytest.mark.parametrize(
    ("implementation", "status", "says"),
    [
        ("ending", "CRASH", "exit code 0"),
        ("dying", "CRASH", "signal SIGSEGV"),
        ("stuck", "TIMEOUT", "did not end within 1 s"),
    ],
)
def test_an_implementation_that_cannot_be_opened_has_a_result_that_says_so_for_every_case(
    implementation: str, status: str, says: str
) -> None:
    limit = 1.0 if status == "TIMEOUT" else 60.0
    job = Job(f"{PLACE}:{implementation}", CHOSEN, start_timeout=limit, checks=f"{PLACE}:passing", workers=2)
    found: list[Result] = []

    with pytest.raises(NotStarted, match=says):
        for result in run(job):
            found.append(result)

    assert [(*case, status) for case in CASES] == cases(found)
    assert all(result.detail.startswith("at opening: ") and says in result.detail for result in found)


def test_an_implementation_that_cannot_be_imported_does_not_stop_the_next_one(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "hostile_module.py").write_text("import os; os._exit(0)")
    monkeypatch.syspath_prepend(str(tmp_path))
    implementations = ["--impl", "hostile_module:found", "--impl", f"{PLACE}:hostile"]

    code = main(["run", *implementations, "--checks", f"{PLACE}:passing", "-k", "RUN-14"])

    output = capsys.readouterr().out
    assert 3 == code
    assert "hostile_module:found: 1 CRASH of 1 behaviors" in output
    assert f"{PLACE}:hostile: 1 PASS of 1 behaviors" in output


@pytest.mark.parametrize(("checks", "status"), [("raising_a_long_text", "ERROR"), ("expecting_a_long_text", "FAIL")])
def test_a_long_text_is_shortened_to_its_ends(checks: str, status: str) -> None:
    found = played("hostile", checks)

    assert [("RUN-13", 1, status), *AFTER] == cases(found)
    assert "first xxx" in found[0].detail
    assert "characters left out" in found[0].detail
    assert all(len(text) <= 4_000 for text in (found[0].detail, found[0].expected))


def test_of_much_that_a_process_prints_the_end_is_shown() -> None:
    found = played("hostile", "writing_a_long_text")

    assert [("RUN-13", 1, "CRASH"), *AFTER] == cases(found)
    assert len(found[0].detail) <= 4_000
    assert found[0].detail.endswith("xxx last words")


def test_times_are_finite_whatever_an_implementation_does_to_its_clock() -> None:
    found = played("timeless", "passing")

    assert [("RUN-13", 1, "PASS"), *AFTER] == cases(found)
    assert all(0 < result.seconds < 1_000 for result in found)


def test_what_is_no_answer_is_an_error_of_the_running_case_only() -> None:
    found = played("hostile", "forging", *FORGED_IDS.values(), "RUN-01", workers=2)

    by_id = {result.id: result for result in found}
    assert "PASS" == by_id.pop("RUN-01").status.value
    assert dict.fromkeys(FORGED_IDS, "ERROR") == {name: by_id[id].status.value for name, id in FORGED_IDS.items()}
    assert all(
        result.detail.startswith("the process sent something that is not an answer (") for result in by_id.values()
    )


@pytest.mark.parametrize("implementation", ["hostile", "isolated"])
def test_a_process_that_ends_well_without_an_answer_is_a_crash(implementation: str) -> None:
    found = played(implementation, "exiting_well")

    assert [("RUN-13", 1, "CRASH"), *AFTER] == cases(found)
    assert "the process died (exit code 0)" == found[0].detail


def test_a_process_that_dies_of_a_signal_without_a_name_is_a_crash() -> None:
    found = played("hostile", "dying_of_a_nameless_signal")

    assert [("RUN-13", 1, "CRASH"), *AFTER] == cases(found)
    assert "the process died (signal 37)" == found[0].detail


@pytest.fixture
def pipe(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Generator[int]:
    """A pipe that a hostile process writes to and holds open; the reading of it has an end when no such process is left."""
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setenv("HOSTILE_PIPE", str(tmp_path / "pipe"))
    reading = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    yield reading
    os.close(reading)


linux = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux gives lost processes to the one that asks for them"
)


@linux
@pytest.mark.parametrize(
    ("checks", "status"), [("leaving_a_process_behind", "PASS"), ("leaving_a_process_behind_and_dying", "CRASH")]
)
@pytest.mark.parametrize("implementation", ["hostile", "isolated"])
def test_a_process_that_left_its_group_and_its_session_ends_with_the_run(
    pipe: int, implementation: str, checks: str, status: str
) -> None:
    found = played(implementation, checks, "RUN-13")

    assert [("RUN-13", 1, status)] == cases(found)
    assert (b"here", b"") == (os.read(pipe, 100), os.read(pipe, 100))


# As `python -m conformance` does it, in a process that tells its number to those that it starts.
PROGRAM = """
import os, runpy
os.environ["HOSTILE_RUNNER"] = str(os.getpid())
runpy.run_module("conformance", run_name="__main__", alter_sys=True)
"""


def program(checks: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    selected = ["--impl", f"{PLACE}:hostile", "--checks", f"{PLACE}:{checks}"]
    ids = ["-k", "RUN-01", "-k", "RUN-13", "-k", "RUN-14"]
    command = [sys.executable, "-c", PROGRAM, "run", *selected, *ids, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def cancelled(tmp_path: pathlib.Path, checks: str) -> tuple[Report, str]:
    """Let an implementation cancel the run with SIGTERM; return the report, and what was printed."""
    done = program(checks, "--json", str(tmp_path / "report.json"))
    assert 130 == done.returncode
    assert done.stderr.startswith("conformance: the run was cancelled")
    assert 1 == done.stderr.count("\n")
    return Report.from_json((tmp_path / "report.json").read_text()), done.stdout


def test_a_cancelled_run_ends_its_process_and_reports_all_that_was_answered_before(
    tmp_path: pathlib.Path, pipe: int
) -> None:
    report, output = cancelled(tmp_path, "cancelling")

    assert [*(("RUN-01", count, "PASS") for count in (1, 2, 3)), ("RUN-13", 1, "PASS")] == cases(report.results)
    assert f"{PLACE}:hostile: 2 PASS of 2 behaviors\nThe run was not completed; this is what was done.\n" in output
    assert not report.complete
    assert (b"here", b"") == (os.read(pipe, 100), os.read(pipe, 100))


def test_a_run_that_is_cancelled_before_its_first_answer_is_reported_too(tmp_path: pathlib.Path) -> None:
    report, output = cancelled(tmp_path, "cancelling_at_once")

    assert [("RUN-01", None, "UNSUPPORTED")] == cases(report.results)
    assert "The run was not completed; this is what was done." in output
    assert not report.complete


@linux
def test_a_runner_that_is_killed_leaves_nothing_behind(pipe: int) -> None:
    assert -signal.SIGKILL == program("killing_the_runner").returncode

    os.set_blocking(pipe, True)
    assert (b"here", b"") == (os.read(pipe, 100), os.read(pipe, 100))
