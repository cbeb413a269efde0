"""Signals as data: a loop waits for them together with a time limit, and none of them interrupts it."""

import math
import select
import signal
import socket
from types import FrameType, TracebackType
from typing import Any

# SIGCHLD says that a worker has ended, stopped or gone on.
NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)


class SignalInbox:
    """Collects signals to this process, in order; what was ignored before stays ignored, as `nohup` wants it."""

    def __init__(self) -> None:
        self._reading, self._writing = socket.socketpair()
        self._reading.setblocking(False)
        self._writing.setblocking(False)
        self._before: dict[signal.Signals, Any] = {}
        self._descriptor_before = -1

    def __enter__(self) -> "SignalInbox":
        for number in NUMBERS:
            before = signal.getsignal(number)
            if before is not signal.SIG_IGN or number is signal.SIGCHLD:
                self._before[number] = before
                signal.signal(number, _only_take_note)
        self._descriptor_before = signal.set_wakeup_fd(self._writing.fileno(), warn_on_full_buffer=False)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        signal.set_wakeup_fd(self._descriptor_before)
        for number, before in self._before.items():
            signal.signal(number, signal.SIG_DFL if before is None else before)
        self._reading.close()
        self._writing.close()

    def wait(self, seconds: float) -> list[int]:
        """Wait for signals or for `wake`, at most so many seconds or `math.inf`, and return each signal that came, once."""
        waiting = select.poll()
        waiting.register(self._reading, select.POLLIN)
        waiting.poll(None if seconds == math.inf else math.ceil(max(seconds, 0) * 1000))
        try:
            return [number for number in self._reading.recv(4096) if number]
        except BlockingIOError:
            return []

    def wake(self) -> None:
        """Let `wait` return; any thread may call this."""
        try:
            self._writing.send(b"\0")
        except OSError:
            # It is full, and wakes anyway, or it is closed, and nobody waits.
            return


def _only_take_note(number: int, frame: FrameType | None) -> None:
    """Do nothing: Python has put the number into the inbox."""
