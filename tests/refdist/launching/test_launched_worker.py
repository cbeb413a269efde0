import signal
import sys

import pytest

from refdist._core.launching.launched_worker import Exit, LaunchedWorker


def started(code):
    return LaunchedWorker(0, [sys.executable, "-S", "-c", code], {})


def close(worker):
    worker.send(signal.SIGKILL)
    worker.reap()
    worker.output.close()
    worker.errors.close()


@pytest.mark.parametrize(
    ("code", "text", "exit_code", "name"),
    [(0, "exit code 0", 0, None), (3, "exit code 3", 3, None), (-15, "killed by SIGTERM", 143, "SIGTERM")],
)
def test_an_end_is_said_as_a_shell_says_it(code, text, exit_code, name):
    ended = Exit(code, 1.25)

    assert (f"{text} after 1.2 s", exit_code, name) == (str(ended), ended.exit_code, ended.signal)


def test_a_worker_has_no_input_and_leads_a_session():
    worker = started("import os, sys; print(len(sys.stdin.read()), os.getsid(0) == os.getpid() == os.getpgrp())")

    assert b"0 True\n" == worker.output.read()
    close(worker)


def test_looking_at_an_ended_worker_keeps_its_number():
    worker = started("")
    worker.output.read()
    while worker.ended is None:
        worker.look()
    first = worker.ended
    worker.look()

    assert worker.ended is first
    assert 0 == first.code
    assert {"pid", "at", "code", "signal", "seconds"} == set(worker.facts())
    worker.send(signal.SIGTERM)  # it still is ours, so this reaches nobody else
    close(worker)
    worker.send(signal.SIGTERM)


def test_a_stop_is_seen_until_the_worker_goes_on():
    worker = started("import os, signal; os.kill(os.getpid(), signal.SIGSTOP); print('on', flush=True); signal.pause()")
    while worker.stopped is None:
        worker.look()

    assert "SIGSTOP" == worker.stopped == worker.facts()["signal"]
    worker.send(signal.SIGCONT)
    assert b"on\n" == worker.output.readline()
    worker.look()
    assert (None, None) == (worker.stopped, worker.ended)
    close(worker)
