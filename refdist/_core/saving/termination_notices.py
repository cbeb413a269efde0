"""Notices that a program is about to be ended: by SIGTERM, or by a function that says so."""

import os
import signal
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any


class SignalNotice:
    """Notes when SIGTERM comes, instead of ending the program, until it is closed or forgotten.

    Then the handler from before is back.
    """

    def __init__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            raise ValueError(
                f"SIGTERM is to be watched for in the thread {threading.current_thread().name!r}; expected the main thread, "
                f"because Python hands signals to it alone. Make the PreemptionCheckpointHandler there, or pass a "
                f"TerminationConfig with a termination_watcher_fn."
            )
        self._received: float | None = None
        _listen(self)
        # Not when the interpreter ends, when handlers no longer matter.
        weakref.finalize(self, _restore_if_unused).atexit = False

    def come(self) -> None:
        """Note that the signal has come; the first one counts."""
        if self._received is None:
            self._received = time.time()

    def received(self) -> float | None:
        """When the notice came, in seconds; None if it has not."""
        return self._received

    def close(self) -> None:
        """Watch no longer."""
        _LISTENING.discard(self)
        _restore_if_unused()


class AskedNotice:
    """Asks a function whether the program is about to be ended, when it is asked itself.

    Asked there and not by a thread, so that one run of a program is like the other, and virtual workers can have it.
    """

    def __init__(self, ask: Callable[[], Any]) -> None:
        self._ask, self._asked = ask, time.time()
        self._received: float | None = None

    def received(self) -> float | None:
        """When the notice may have come at the earliest, in seconds; None if it has not."""
        if self._received is None:
            before, self._asked = self._asked, time.time()
            self._received = before if self._ask() else None
        return self._received

    def close(self) -> None:
        """Watch no longer."""


Notice = SignalNotice | AskedNotice

# The virtual workers of one process all watch for its signal.
_LISTENING: "weakref.WeakSet[SignalNotice]" = weakref.WeakSet()
_BEFORE: list[Any] = []  # the handler from before, while ours is in its place


def _listen(notice: SignalNotice) -> None:
    _LISTENING.add(notice)
    if signal.getsignal(signal.SIGTERM) is not _on_signal:
        _BEFORE[:] = [signal.signal(signal.SIGTERM, _on_signal)]


def _on_signal(number: int, frame: Any) -> None:
    listening = list(_LISTENING)
    for notice in listening:
        notice.come()
    if (
        not listening
    ):  # the last one was forgotten in another thread, which could not bring the handler from before back
        _restore_if_unused()
        os.kill(os.getpid(), number)


def _restore_if_unused() -> None:
    in_main = threading.current_thread() is threading.main_thread()
    # Whoever has set another handler meanwhile keeps it. The list: while one is being forgotten, the set still counts it.
    if not list(_LISTENING) and in_main and _BEFORE and signal.getsignal(signal.SIGTERM) is _on_signal:
        before = _BEFORE.pop()
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)  # None: it was not set by Python
