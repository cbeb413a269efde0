"""A request to stop, which an interrupt makes and threads can wait for."""

import os
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager


class Stopped(Exception):
    """The request to stop came before what was waited for."""


class Stop:
    """A request to stop, which can be waited for together with pipes."""

    def __init__(self) -> None:
        self._reading, self._writing = os.pipe()
        self.requested = False

    def set(self) -> None:
        """Make the request; it cannot be taken back."""
        if not self.requested:
            self.requested = True
            # Never read, so that everybody who waits sees it.
            os.write(self._writing, b".")

    def fileno(self) -> int:
        """Return the end of a pipe that becomes readable when the request is made."""
        return self._reading

    def close(self) -> None:
        """Free the pipe, once nobody waits for it."""
        os.close(self._reading)
        os.close(self._writing)


@contextmanager
def stopped_by_interrupts() -> Generator[Stop]:
    """Turn the first interrupt into a request to stop, instead of an exception anywhere; a second one still raises.

    Only signals that would raise KeyboardInterrupt are taken over; other handlers stay in place.
    """
    stop = Stop()

    def handle(*_: object) -> None:
        if stop.requested:
            raise KeyboardInterrupt
        stop.set()

    own = threading.current_thread() is threading.main_thread()
    signals = [number for number in (signal.SIGINT, signal.SIGTERM) if own and _interrupts(number)]
    try:
        for number in signals:
            signal.signal(number, handle)
        yield stop
    finally:
        for number in signals:
            signal.signal(number, signal.default_int_handler)
        stop.close()


@contextmanager
def uninterrupted() -> Generator[None]:
    """Leave interrupts without effect, while there is something short to do that must come to its end."""
    own = threading.current_thread() is threading.main_thread()
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM) if own}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupts(number: signal.Signals) -> bool:
    return signal.getsignal(number) is signal.default_int_handler
