"""What forks is tested in a process that has loaded nothing else: JAX and others warn of forks, or do not survive them."""

import os
import pathlib
import subprocess
import sys

TESTS = pathlib.Path(__file__).with_name("forking_processes.py")


def test_the_tests_that_fork_pass_in_a_process_of_their_own() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", str(TESTS)]

    settings = {**os.environ, "REFDIST_TESTS_FORK": "1"}
    ended = subprocess.run(
        command, capture_output=True, text=True, cwd=TESTS.parents[2], env=settings, timeout=200, check=False
    )

    assert 0 == ended.returncode, ended.stdout
    assert " passed" in ended.stdout
