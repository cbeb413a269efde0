"""A wish to stop that threads can wait for, and that an interrupt makes."""

import os
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager


class Stopped(Exception):
    """What was waited for did not come before the wish to stop."""


class Stop:
    """A wish to stop, which can be waited for together with pipes."""

    def __init__(self) -> None:
        self._reading, self._writing = os.pipe()
        self.wished = False

    def set(self) -> None:
        """Wish it, from now on."""
        if not self.wished:
            self.wished = True
            # It is never read, so that everybody sees it.
            os.write(self._writing, b".")

    def fileno(self) -> int:
        """Return the end of a pipe that can be read as soon as it is wished."""
        return self._reading

    def close(self) -> None:
        """Free the pipe, for which nobody waits any more."""
        os.close(self._reading)
        os.close(self._writing)


@contextmanager
def stopped_by_interrupts() -> Generator[Stop]:
    """Make a wish to stop of the first interrupt, which would break off anything anywhere; the second one still does.

    Of the signals only those are taken that would raise KeyboardInterrupt: what others handle stays with them.
    """
    stop = Stop()

    def handle(*_: object) -> None:
        if stop.wished:
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


def _interrupts(number: signal.Signals) -> bool:
    return signal.getsignal(number) is signal.default_int_handler
