import os
import resource
import signal
import subprocess
import sys

from refdist._core.launching import launcher
from tests.children import ROOT
from tests.refdist.processes.launches import PREAMBLE, Launched, launch


def test_a_failed_attempt_is_followed_by_another_one(tmp_path):
    program = """
        say("attempt", attempt)
        if attempt < 2 and me == 1:
            sys.exit(7)
    """
    done = launch(tmp_path, program, 2, restarts=3)

    assert 0 == done.exit_code
    assert ["attempt 0", "attempt 1", "attempt 2"] == done.said_by(1)
    assert "All start again (restart 1 of 3)." in done.errors
    assert "All start again (restart 2 of 3)." in done.errors.splitlines()[-1]


def test_the_last_attempt_gives_the_exit_code(tmp_path):
    done = launch(tmp_path, "sys.exit(10 + attempt)", 1, restarts=2)

    assert 12 == done.exit_code
    assert "worker 0 of 1 failed first: exit code 12" in done.errors.splitlines()[-1]


def test_who_asks_to_end_gets_no_other_attempt(tmp_path):
    program = """
        mark("ready")
        if me == 1:
            wait_for("ready *", 2)
            sys.exit(3)
        wait_for("1.json", folder=board)
        os.kill(launcher, signal.SIGTERM)
        for_ever()
    """
    done = launch(tmp_path, program, 2, restarts=5)

    assert 3 == done.exit_code
    assert "start again" not in done.errors
    assert [] == done.left_behind()


def test_the_time_limit_ends_everything(tmp_path):
    done = launch(tmp_path, "mark(me); wait_for('* *', 2); say('here'); for_ever()", 2, timeout_seconds=0.5, restarts=2)

    assert 124 == done.exit_code
    assert "refdist launch: timed out: not done after 0.5 s (--timeout)." == done.errors.splitlines()[-1]
    assert [] == done.left_behind()


def test_the_workers_end_when_the_launcher_is_killed(tmp_path):
    program = tmp_path / "program.py"
    body = """
if os.fork() == 0:
    mark("grandchild")
    for_ever()
mark("child")
wait_for("* *", 4)
say(board)
for_ever()
"""
    program.write_text(PREAMBLE + body)
    command = [sys.executable, "-m", "refdist.launch", "--workers", "2", str(program)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as killed:
        board = killed.stdout.readline().decode().partition("] ")[2].strip()
        killed.kill()
        # The keeper holds the errors open until it has done its work.
        assert b"" == killed.stderr.read()

    assert -signal.SIGKILL == killed.returncode
    assert [] == Launched(0, "", "", tmp_path).left_behind()
    assert board
    assert not os.path.exists(board)


def test_many_workers_may_have_more_files_open_than_usual(monkeypatch):
    asked = []
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (256, 1000))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limits: asked.append(limits))
    for count in (200, 600, 5000):
        launcher._allow_files(count)

    assert [(600, 1000), (1000, 1000)] == asked
