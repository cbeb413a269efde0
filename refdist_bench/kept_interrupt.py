"""A Ctrl-C while something is measured: it is kept until a round is over.

JAX swallows a KeyboardInterrupt that comes into one of its callbacks, and one that comes elsewhere takes all figures along.
"""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Generator
from types import FrameType

SAID = b"\nrefdist bench: ends after this round, and shows what it has; Ctrl-C again ends it at once.\n"


class Interrupt:
    """Whether somebody wants to end."""

    def __init__(self) -> None:
        self.has_come = False

    def come(self, number: int, frame: FrameType | None) -> None:
        """Handle the signal: the first one is kept, the second one raises."""
        if self.has_come:
            raise KeyboardInterrupt
        self.has_come = True
        os.write(
            sys.__stderr__.fileno() if sys.__stderr__ else 2, SAID
        )  # print() may be interrupted in the middle of itself

    def obey(self) -> None:
        """Raise KeyboardInterrupt where one has come."""
        if self.has_come:
            raise KeyboardInterrupt


@contextlib.contextmanager
def kept_interrupt() -> Generator[Interrupt]:
    """Keep the first Ctrl-C in this block, in the main thread of a program that has no handler of its own."""
    interrupt = Interrupt()
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield interrupt
        return
    signal.signal(signal.SIGINT, interrupt.come)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, before)
