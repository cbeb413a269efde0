"""One worker: a process at the head of a session of its own, so that what it starts goes with it."""

import contextlib
import math
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any


@dataclass(frozen=True, slots=True)
class Exit:
    """How a worker has ended: with a code, which is -9 for signal 9, and after how long."""

    code: int
    seconds: float

    @property
    def exit_code(self) -> int:
        """The code as a shell says it.

        >>> Exit(-9, 0.5).exit_code, Exit(3, 0.5).exit_code
        (137, 3)
        """
        return 128 - self.code if self.code < 0 else self.code

    @property
    def signal(self) -> str | None:
        """The name of the signal that ended the worker."""
        return signal_name(-self.code) if self.code < 0 else None

    def __str__(self) -> str:
        how = f"killed by {self.signal}" if self.signal else f"exit code {self.code}"
        return f"{how} after {self.seconds:.1f} s"


class LaunchedWorker:
    """A worker that has been started; it is reaped at the end only, so that its number stays its own."""

    def __init__(self, index: int, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.index = index
        self.ended: Exit | None = None
        self.ended_at = math.inf  # as time.time() has it, which all processes agree on
        self.stopped: str | None = None
        self._started = time.monotonic()
        # No standard input: several workers cannot share one, and a session of its own has no terminal.
        self._process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )

    @property
    def group(self) -> int:
        """The process group of the worker and of what it has started."""
        return self._process.pid

    @property
    def output(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout

    @property
    def errors(self) -> IO[bytes]:
        assert self._process.stderr is not None
        return self._process.stderr

    def look(self) -> None:
        """Find out whether the worker has ended, and whether it is stopped."""
        if self.ended is not None:
            return
        options = os.WEXITED | os.WSTOPPED | os.WNOHANG | os.WNOWAIT
        found = os.waitid(os.P_PID, self._process.pid, options)
        self.stopped = None
        if found is not None and found.si_code in (os.CLD_EXITED, os.CLD_KILLED, os.CLD_DUMPED):
            code = found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
            self.ended = Exit(code, time.monotonic() - self._started)
            self.ended_at = time.time()
        elif found is not None:
            self.stopped = signal_name(found.si_status)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the worker and to what it has started; a stopped process wakes to handle it."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.group, number)
            if number is not signal.SIGKILL:
                os.killpg(self.group, signal.SIGCONT)

    def reap(self) -> None:
        """Let go of a worker that has ended, or is about to after SIGKILL; its group has no number from now on."""
        self._process.wait()

    def facts(self) -> dict[str, Any]:
        """What the others are told about this worker."""
        if self.ended is None:
            return {"pid": self.group, "at": time.time(), "signal": self.stopped}
        facts: dict[str, Any] = {"pid": self.group, "at": self.ended_at}
        return {**facts, "code": self.ended.code, "signal": self.ended.signal, "seconds": round(self.ended.seconds, 3)}


def signal_name(number: int) -> str:
    """Name a signal.

    >>> signal_name(9), signal_name(40)
    ('SIGKILL', 'signal 40')
    """
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
