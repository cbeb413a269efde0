import sys

import pytest

from refdist._core.launching import launcher
from refdist_command import launch_command, subcommands


@pytest.fixture
def launches(monkeypatch):
    found = []
    monkeypatch.setattr(launcher, "run", lambda launch: found.append(launch) or 5)
    return found


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "train.py"
    path.touch()
    return str(path)


@pytest.mark.parametrize("main", [lambda line: subcommands.main(["launch", *line]), launch_command.main])
def test_options_before_the_program_are_ours_and_the_rest_is_its_own(launches, program, main):
    ours = ["--workers", "3", "--devices-per-worker", "2", "--timeout", "7.5", "--restart", "4", "--grace", "2"]

    assert 5 == main([*ours, program, "--workers", "9", "-m", "x", "--", "--help"])
    (launch,) = launches
    assert (sys.executable, program, "--workers", "9", "-m", "x", "--", "--help") == launch.command
    assert (3, 2, 7.5, 4, 2.0) == (
        launch.workers,
        launch.devices_per_worker,
        launch.timeout_seconds,
        launch.restarts,
        launch.grace_seconds,
    )


def test_what_is_not_said_is_as_usual(launches, program):
    launch_command.main(["--workers", "1", program])

    (launch,) = launches
    assert (None, None, 0, 15.0) == (
        launch.devices_per_worker,
        launch.timeout_seconds,
        launch.restarts,
        launch.grace_seconds,
    )


def test_a_module_is_run_as_python_does(launches):
    launch_command.main(["--workers", "2", "--python", "/bin/sh", "-m", "package.module", "-m", "--timeout"])

    assert ("/bin/sh", "-m", "package.module", "-m", "--timeout") == launches[0].command


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("", ["--workers"]),
        ("--workers 2", ["no program was given", "expected a Python file", "refdist launch --workers 2 train.py"]),
        ("--workers 2 missing.py", ["no program missing.py", "expected a Python file", "put -m"]),
        ("--workers 0 x.py", ["got '0'", "at least 1 and at most 1024", "--workers 2"]),
        ("--workers 1025 x.py", ["got '1025'", "at least 1 and at most 1024", "--workers 2"]),
        ("--workers two x.py", ["got 'two'", "whole number", "--workers 2"]),
        ("--workers 2 --devices-per-worker 0 x.py", ["got '0'", "at least 1", "--devices-per-worker 2"]),
        ("--workers 2 --restart -1 x.py", ["--restart"]),
        ("--workers 2 --timeout 0 x.py", ["got '0'", "more than 0", "--timeout 60"]),
        ("--workers 2 --timeout nan x.py", ["got 'nan'", "more than 0", "--timeout 60"]),
        ("--workers 2 --timeout soon x.py", ["got 'soon'", "more than 0", "--timeout 60"]),
        (
            "--workers 2 --python nowhere PROGRAM",
            ["--python nowhere", "expected a Python interpreter", "leave --python out"],
        ),
        ("--workers 2 --work 3 PROGRAM", ["--work"]),
    ],
)
def test_a_wrong_command_line_is_refused(launches, program, line, parts, capsys):
    with pytest.raises(SystemExit) as refused:
        subcommands.main(["launch", *line.replace("PROGRAM", program).split()])

    assert 2 == refused.value.code
    assert [] == launches
    said = capsys.readouterr().err
    assert all(part in said for part in parts), said


def test_too_few_gpus_are_a_wrong_command_line(program, monkeypatch, capsys):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    with pytest.raises(SystemExit) as refused:
        launch_command.main(["--workers", "2", program])

    assert 2 == refused.value.code
    assert "2 workers with 1 devices each" in capsys.readouterr().err
