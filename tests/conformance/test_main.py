"""The command line has the documented exit codes, and its errors say what there is."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from conformance.__main__ import main
from conformance.commands import run as command
from conformance.report import Report

RUN = ["run", "--impl", "tests.conformance.fake:fake", "--checks", "tests.conformance.fake:checks"]
ROOT = pathlib.Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([*RUN, "-k", "RUN-01"], 0),
        ([*RUN, "-k", "RUN-06"], 0),
        ([*RUN, "-k", "RUN-02"], 1),
        ([*RUN, "-k", "RUN-03", "--replicas", "1"], 1),
        ([*RUN, "-k", "RUN-04"], 3),
        ([*RUN, "-k", "zebra crossing"], 5),
        ([*RUN, "-k", "RUN-01", "--replicas", "7"], 5),
        ([*RUN, "-k", "RUN-99"], 2),
        ([*RUN, "--area", "RUM"], 2),
        (["run", "--impl", "simulato"], 2),
        (["list", "-k", "zebra crossing"], 5),
        (["list"], 0),
        (["show", "RUN-01"], 0),
        (["show", "gather"], 2),
    ],
)
def test_exit_codes(arguments: list[str], code: int) -> None:
    assert code == main(arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["run", "--replicas", "0"],
        ["run", "--replicas", "two"],
        ["run", "--timeout", "0"],
        ["run", "--timeout", "soon"],
        ["run", "--json", "no/such/folder/report.json"],
        ["run", "--json", "."],
    ],
)
def test_wrong_usage_exits_with_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)

    assert 2 == caught.value.code


def test_an_implementation_that_cannot_start_does_not_stop_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    code = main([*RUN, "--impl", "tests.conformance.fake:broken", "-k", "RUN-01", "--replicas", "1"])

    output = capsys.readouterr()
    assert 3 == code
    assert "RuntimeError: cannot be opened" in output.err
    assert "tests.conformance.fake:fake: 1 PASS of 1 behaviors" in output.out
    assert "not completed" in output.out


def test_the_report_is_written_as_json_too(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "report.json"

    main([*RUN, "-k", "RUN-02", "--replicas", "2", "--json", str(file), "-v"])

    assert ["FAIL"] == [result.status.name for result in Report.from_json(file.read_text()).results]
    assert [2] == json.loads(file.read_text())["selection"]["replicas"]
    assert "RUN-02" in capsys.readouterr().out


def test_progress_is_not_shown_when_stderr_is_not_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    main([*RUN, "-k", "RUN-01"])

    assert "" == capsys.readouterr().err


def test_list_and_show_print_what_the_catalogue_says(capsys: pytest.CaptureFixture[str]) -> None:
    main(["list", "--area", "config"])
    main(["show", "attr-01"])

    output = capsys.readouterr().out
    assert "CONFIG-01   must     update_config_proto signature\n" in output
    assert "001_6b3721ebc8f105b3.txt#overview" in output
    assert all(word in output for word in ("statement", "observe", "conflicts with", "check", "fault"))


def test_an_interrupt_prints_what_was_done(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(job: object, started: object) -> object:
        yield from list(command_run(job, started))[:2]
        raise KeyboardInterrupt

    command_run = vars(command)["run"]
    monkeypatch.setattr(command, "run", interrupted)

    code = main([*RUN, "-k", "RUN-01"])

    assert 130 == code
    assert "1 PASS of 1 behaviors\nThe run was not completed" in capsys.readouterr().out


def test_a_run_that_is_cancelled_ends_its_child_and_prints_what_was_done(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "process"
    done = subprocess.run(
        [sys.executable, "-m", "conformance", *RUN, "-k", "RUN-01", "-k", "RUN-13"],
        cwd=ROOT,
        env={**os.environ, "FAKE_PROCESS_FILE": str(file)},
        capture_output=True,
        check=False,
    )

    assert (130, b"") == (done.returncode, done.stderr)
    # How many results had been read when the signal came is not certain.
    assert b"The run was not completed; this is what was done." in done.stdout
    with pytest.raises(ProcessLookupError):
        os.kill(int(file.read_text()), 0)


@pytest.mark.parametrize("arguments", [["list"], [*RUN, "-k", "RUN-01", "-v"]])
def test_a_reader_that_goes_away_causes_no_traceback(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "conformance", *arguments],
            cwd=ROOT,
            stdout=writing,
            stderr=subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(writing)

    assert (0, b"") == (done.returncode, done.stderr)


def test_importing_the_package_loads_neither_jax_nor_refdist() -> None:
    code = "import conformance, conformance.runner, sys; print({'jax', 'refdist', 'rich'} & set(sys.modules))"

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert "set()\n" == done.stdout
