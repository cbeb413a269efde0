"""Runs checks on an implementation in a process of its own, and goes on when that process dies or hangs."""

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType
from typing import IO, Any

from conformance.case import caught, missing_features, prove, run_case
from conformance.checks import Check
from conformance.implementations import Implementation, find, locate
from conformance.results import Case, Result, Status

__all__ = ["CHECKS", "Job", "SuiteError", "caught", "prove", "run", "run_case"]

CHECKS = "conformance.checks:checks"
START_SECONDS = 300.0
"""The time for a child to import everything; it is long, because a cold start of JAX can be."""
GRACE_SECONDS = 1.0
"""The time for a child that hangs to write down where it hangs."""
STDERR_LINES = 20


class SuiteError(Exception):
    """The suite itself broke, so that nothing can be said about the implementation."""


@dataclass(frozen=True, slots=True)
class Job:
    """What to run on one implementation."""

    implementation: str
    """A name, or "package.module:object"."""
    ids: tuple[str, ...]
    replicas: tuple[int, ...] | None = None
    """Only these replica counts; without it, all that a check names."""
    timeout: float = 60.0
    """The seconds after which a case is ended."""
    checks: str = CHECKS
    """The place of the function that returns the checks."""


def run(job: Job, started: Callable[[str, Case], None] = lambda _, __: None) -> Generator[Result]:
    """Run a job and yield its results, first those of what cannot be run.

    Args:
        started: is told the implementation and the case, each time that a case starts.
    """
    implementation = find(job.implementation)
    checks: Mapping[str, Check] = locate(job.checks, FunctionType)()
    cases: list[Case] = []
    for id in job.ids:
        if id not in checks:
            yield Result(id, implementation.name, None, Status.UNSUPPORTED, "has no check yet")
            continue
        counts = [count for count in checks[id].replicas if job.replicas is None or count in job.replicas]
        missing = missing_features(implementation, checks[id])
        if missing is None:
            cases += [Case(id, count) for count in counts]
        else:
            yield from (Result(id, implementation.name, count, Status.UNSUPPORTED, missing) for count in counts)
    while cases:
        done = 0
        with _child(job, implementation, cases) as child:
            for result in _results(child, job, implementation, cases, started):
                done += 1
                yield result
        cases = cases[done:]


def _results(
    child: "_Child",
    job: Job,
    implementation: Implementation,
    cases: Sequence[Case],
    started: Callable[[str, Case], None],
) -> Iterator[Result]:
    """Yield the results of one child until all cases are done, or it dies or hangs."""
    _require_ready(child, job.implementation)
    for case in cases:
        started(implementation.name, case)
        start = time.monotonic()
        try:
            message = child.receive_start() and child.receive(job.timeout + GRACE_SECONDS)
        except queue.Empty:
            status, detail = Status.TIMEOUT, f"did not end within {job.timeout:g} s\n{child.last_words()}"
        else:
            if message is not None:
                yield Result.from_dict(message["result"])
                continue
            status, detail = Status.CRASH, f"the process died ({child.ending()})\n{child.last_words()}"
        yield Result(case.id, implementation.name, case.replicas, status, detail.rstrip(), time.monotonic() - start)
        return


def _require_ready(child: "_Child", name: str) -> None:
    """Wait until the child has opened the implementation."""
    try:
        if child.receive(START_SECONDS) is not None:
            return
        happened = f"ended before its first check ({child.ending()})"
    except queue.Empty:
        happened = f"was not ready after {START_SECONDS:g} s"
    raise SuiteError(
        f"the process that runs {name} {happened}; expected it to import and open the implementation. "
        f"Mend the error that it printed:\n{child.last_words()}"
    )


@contextmanager
def _child(job: Job, implementation: Implementation, cases: Sequence[Case]) -> Generator["_Child"]:
    """Start a process for these cases, and end it and all that it started when the block is left."""
    request = {
        "implementation": job.implementation,
        "checks": job.checks,
        "timeout": job.timeout,
        "cases": [[case.id, case.replicas] for case in cases],
    }
    # The child finds modules where this process finds them.
    paths = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with tempfile.TemporaryFile("w+") as orders, tempfile.TemporaryFile("w+b") as errors:
        json.dump(request, orders)
        orders.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-m", "conformance.child"],
            stdin=orders,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, **paths, **implementation.environment},
            # In a session of its own, so that an interrupt reaches only this process, which then ends all others.
            start_new_session=True,
        )
        try:
            yield _Child(process, errors)
        finally:
            _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a process and its children, whether it is still there or not."""
    if hasattr(os, "killpg"):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            process.kill()
    else:
        process.kill()
    process.wait()


class _Child:
    """A running child: its messages, and what it wrote last when it died."""

    def __init__(self, process: "subprocess.Popen[bytes]", errors: IO[bytes]) -> None:
        self._process = process
        self._errors = errors
        self._errors_start = 0
        self._messages: queue.Queue[dict[str, Any] | None] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def receive(self, limit_seconds: float) -> dict[str, Any] | None:
        """Return the next message, None if the process has died; raise `queue.Empty` if there is none in time."""
        try:
            return self._messages.get(timeout=limit_seconds)
        except queue.Empty:
            # A process that was forked by the child may hold the pipe open after its death.
            if self._process.poll() is None:
                raise
            return None

    def receive_start(self) -> dict[str, Any] | None:
        """Return the message that a case has started; only what is written from then on are its last words."""
        message = self.receive(START_SECONDS)
        if message is not None:
            self._errors_start = message["error_bytes"]
        return message

    def ending(self) -> str:
        """Say how the process ended, which has closed its output."""
        try:
            code = self._process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            return "it closed its output"
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"

    def last_words(self) -> str:
        """Return the last lines of the error output of the process, from the start of the running case."""
        self._errors.seek(self._errors_start)
        lines = self._errors.read().decode(errors="replace").splitlines()
        return "\n".join(lines[-STDERR_LINES:])

    def _listen(self) -> None:
        """Pass on each line until the process closes its output."""
        assert self._process.stdout is not None, "the process is started with a pipe"
        with self._process.stdout as lines:
            for line in lines:
                self._messages.put(json.loads(line))
        self._messages.put(None)
