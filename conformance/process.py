"""A process in which an implementation runs: what it is told, what it answers, and what it printed before it died.

Nothing that comes from it is trusted before it is checked, and no text is kept that is longer than a reader wants.
"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from multiprocessing.connection import wait
from typing import Any, TypeVar

from conformance.printable import shortened
from conformance.results import Status
from conformance.stopping import Stop, Stopped
from conformance.supervisor import SHOW_PLACE

GRACE_SECONDS = 10.0
"""How long a process may take to end when asked to; far more than it needs, unless it is hostile."""
MESSAGE_BYTES = 2**20
"""No answer is longer: its texts are shortened before they are sent."""
STDERR_BYTES = 2**16
STDERR_LINES = 40
SUPERVISOR = pathlib.Path(__file__).with_name("supervisor.py")

Answer = TypeVar("Answer")


class Lost(Exception):
    """A process gave no answer: it died, took too long, or sent something else."""

    def __init__(self, status: Status, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = shortened(detail)


class Process:
    """A running process, and everything that it starts."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        # So that it finds modules where this process finds them.
        paths = {"PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
        self._start = time.monotonic()
        self._unread = b""
        self._errors_start = 0
        self._errors = tempfile.TemporaryFile("w+b")  # noqa: SIM115 - it is closed in `end`
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(SUPERVISOR)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, **paths, **environment},
            # In its own session, so that an interrupt reaches only this process, which then ends the others.
            start_new_session=True,
        )

    def tell(self, message: Mapping[str, Any]) -> None:
        """Write one line to the process; if it no longer reads, its answer will show that."""
        self._errors_start = os.fstat(self._errors.fileno()).st_size
        self._start = time.monotonic()
        assert self._process.stdin is not None, "the process is started with a pipe"
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()

    def answer(self, read: Callable[[Any], Answer], limit_seconds: float, stop: Stop) -> Answer:
        """Return what the process answers, within a time limit that starts when it is told something.

        Args:
            read: converts a message to the answer; raises ValueError if it is not one.
        """
        try:
            return read(json.loads(self._line(self._start + limit_seconds, stop)))
        except TimeoutError:
            detail = f"did not end within {limit_seconds:g} s\n{self._place()}"
            raise Lost(Status.TIMEOUT, detail.rstrip()) from None
        except EOFError:
            detail = f"the process died ({self._ending()})\n{self._last_words()}"
            raise Lost(Status.CRASH, detail.rstrip()) from None
        except (ValueError, RecursionError) as error:
            raise Lost(
                Status.ERROR, f"the process sent something that is not an answer ({shortened(str(error), 200)})"
            ) from error

    def end(self) -> None:
        """End the process and everything that it started, even if it is gone itself."""
        assert self._process.stdin is not None, "the process is started with a pipe"
        assert self._process.stdout is not None, "the process is started with a pipe"
        # The supervisor ends everything when its input ends.
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        if sys.platform == "linux":
            self._ended()
        self._signal(signal.SIGKILL)
        self._process.wait()
        self._process.stdout.close()
        self._errors.close()

    def _line(self, deadline: float, stop: Stop) -> bytes:
        """Return the next line; one that has arrived is returned even after the deadline, or if the run is to stop."""
        assert self._process.stdout is not None, "the process is started with a pipe"
        answers = self._process.stdout.fileno()
        while b"\n" not in self._unread:
            if len(self._unread) > MESSAGE_BYTES:
                raise ValueError(f"more than {MESSAGE_BYTES} bytes without an end")
            ready = wait([answers, stop.fileno()], max(0.0, deadline - time.monotonic()))
            if answers in ready:
                piece = os.read(answers, 2**16)
                if not piece:
                    raise EOFError
                self._unread += piece
            elif ready:
                raise Stopped
            elif self._process.poll() is not None:
                # Another process may hold the pipe open after its death.
                raise EOFError
            else:
                raise TimeoutError
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _place(self) -> str:
        """End the process, and return where it was at that moment."""
        self._signal(SHOW_PLACE)
        self._ended()
        return self._last_words()

    def _ending(self) -> str:
        """Say how a process that has closed its output ended."""
        code = self._ended()
        if code is None:
            return "it closed its output"
        if code >= 0:
            return f"exit code {code}"
        names = {number.value: number.name for number in signal.Signals}
        return f"signal {names.get(-code, -code)}"

    def _ended(self) -> int | None:
        """Give the process time to end, and return its exit code, or None if it does not end."""
        try:
            return self._process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            return None

    def _signal(self, number: signal.Signals) -> None:
        """Send a signal to all processes of the group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _last_words(self) -> str:
        """Return the last lines of what the process printed, from the start of the running case."""
        size = os.fstat(self._errors.fileno()).st_size
        self._errors.seek(max(self._errors_start, size - STDERR_BYTES))
        lines = self._errors.read(STDERR_BYTES).decode(errors="replace").splitlines()
        return "\n".join(lines[-STDERR_LINES:])
