"""Runs cases in a process of its own, and starts another one when that process dies or hangs."""

import contextlib
import json
import os
import platform
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from typing import Any

from conformance.implementations import Implementation
from conformance.last import cache
from conformance.results import Case, Result, Status

START_SECONDS = 300.0
"""The time for a child to import everything; it is long, because a cold start of JAX can be."""
GRACE_SECONDS = 1.0
"""The time for a child that hangs to write down where it hangs."""
STDERR_LINES = 20


class SuiteError(Exception):
    """The suite itself broke, so that nothing can be said about the implementation."""


class Worker:
    """One process after another, in which cases of one implementation run."""

    def __init__(self, implementation: Implementation, request: Mapping[str, Any], number: int = 0) -> None:
        self._implementation = implementation
        self._request = request
        self._number = number
        self._lock = threading.Lock()
        self._closed = False
        self._child: _Child | None = None
        # It opens the implementation while its first case is still to come.
        self._started()

    def run(self, case: Case) -> Result:
        """Run a case, and say how it ended, whatever becomes of the process."""
        child = self._started()
        child.require_ready(self._implementation.name)
        start = time.monotonic()
        limit = self._request["timeout"]
        try:
            message = child.ask(case, limit + GRACE_SECONDS)
        except queue.Empty:
            status, detail = Status.TIMEOUT, f"did not end within {limit:g} s\n{child.last_words()}"
        else:
            if message is not None:
                return Result.from_dict(message["result"])
            status, detail = Status.CRASH, f"the process died ({child.ending()})\n{child.last_words()}"
        self._end()
        seconds = time.monotonic() - start
        return Result(case.id, self._implementation.name, case.replicas, status, detail.rstrip(), seconds)

    def close(self) -> None:
        """End the process and all that it started; may be called while another thread waits in `run`."""
        with self._lock:
            self._closed = True
        self._end()

    def _started(self) -> "_Child":
        """Return the running process, a new one if there is none."""
        with self._lock:
            if self._closed:
                raise SuiteError("a case was given to a worker that is closed; expected an open one. Report this.")
            if self._child is None:
                self._child = _Child(self._implementation, self._request, self._number)
            return self._child

    def _end(self) -> None:
        with self._lock:
            child, self._child = self._child, None
        if child is not None:
            child.end()


class _Child:
    """A running process: what it is asked, what it answers, and what it wrote last when it died."""

    def __init__(self, implementation: Implementation, request: Mapping[str, Any], number: int) -> None:
        # The child finds modules where this process finds them.
        paths = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        self._errors = tempfile.TemporaryFile("w+b")  # noqa: SIM115 - it is closed in `end`
        self._errors_start = 0
        self._ready = False
        self._process = subprocess.Popen(
            [sys.executable, "-m", "conformance.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**_kept_programs(implementation.name, number), **os.environ, **paths, **implementation.environment},
            # In a session of its own, so that an interrupt reaches only this process, which then ends all others.
            start_new_session=True,
        )
        self._messages: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self._tell(request)

    def require_ready(self, name: str) -> None:
        """Wait until the child has opened the implementation."""
        if self._ready:
            return
        try:
            if self._receive(START_SECONDS) is not None:
                self._ready = True
                return
            happened = f"ended before its first check ({self.ending()})"
        except queue.Empty:
            happened = f"was not ready after {START_SECONDS:g} s"
        raise SuiteError(
            f"the process that runs {name} {happened}; expected it to import and open the implementation. "
            f"Mend the error that it printed:\n{self.last_words() or '(it printed nothing)'}"
        )

    def ask(self, case: Case, limit_seconds: float) -> dict[str, Any] | None:
        """Return the answer for a case, None if the process died; raise `queue.Empty` if there is none in time."""
        self._errors_start = os.fstat(self._errors.fileno()).st_size
        self._tell({"id": case.id, "replicas": case.replicas, "fault": case.fault})
        return self._receive(limit_seconds)

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

    def end(self) -> None:
        """End the process and its children, whether it is still there or not."""
        if hasattr(os, "killpg"):
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                self._process.kill()
        else:
            self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None, "the process is started with a pipe"
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._errors.close()

    def _tell(self, message: Mapping[str, Any]) -> None:
        """Write one line to the process; what it does not read any more shows in what it answers."""
        assert self._process.stdin is not None, "the process is started with a pipe"
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()

    def _receive(self, limit_seconds: float) -> dict[str, Any] | None:
        try:
            return self._messages.get(timeout=limit_seconds)
        except queue.Empty:
            # A process that was forked by the child may hold the pipe open after its death.
            if self._process.poll() is None:
                raise
            return None

    def _listen(self) -> None:
        """Pass on each line until the process closes its output."""
        assert self._process.stdout is not None, "the process is started with a pipe"
        with self._process.stdout as lines:
            for line in lines:
                self._messages.put(json.loads(line))
        self._messages.put(None)


def _kept_programs(name: str, number: int) -> dict[str, str]:
    """Let JAX keep what it compiles for the next run, which takes half the time then.

    Each worker has a folder of its own, because JAX may read an entry that another process is still writing. Where nothing can be
    written nothing is kept, because JAX would warn of that in the middle of checks.
    """
    folder = cache() / "programs" / platform.node() / f"{re.sub('[^A-Za-z0-9_.-]', '_', name)}-{number}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return {}
    if not os.access(folder, os.W_OK):
        return {}
    return {
        "JAX_COMPILATION_CACHE_DIR": str(folder),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
