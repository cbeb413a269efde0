"""What is to be launched, the ways in which workers are ended, and how an attempt came out: data."""

import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

TIMED_OUT = 124  # as timeout(1) has it
COULD_NOT_START = 126  # as a shell has it
READER_GONE = 128 + signal.SIGPIPE

Steps = Sequence[tuple[float, signal.Signals]]
"""How workers are ended: after so many seconds comes a signal, and so many seconds after that the next one."""

AT_ONCE: Steps = ((0, signal.SIGKILL),)


@dataclass(frozen=True, slots=True)
class Launch:
    """A command to run in each of so many workers, and the limits that it has."""

    command: tuple[str, ...]
    workers: int
    devices_per_worker: int | None = None
    timeout_seconds: float | None = None
    restarts: int = 0
    grace_seconds: float = 15.0
    seconds_to_obey: float = 5.0
    output: int = 1  # file descriptors
    errors: int = 2
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    def politely(self) -> Steps:
        """Those that do not end when they are told to are killed."""
        return ((0, signal.SIGTERM), (self.seconds_to_obey, signal.SIGKILL))

    def after_a_failure(self) -> Steps:
        """The others have the time to notice, and to say what they lost and where they waited for it."""
        return ((self.grace_seconds, signal.SIGTERM), (self.seconds_to_obey, signal.SIGKILL))

    def after_a_request(self, number: int) -> Steps:
        """A signal to the launcher is one to the workers; those that are told to terminate may save first."""
        if number == signal.SIGINT:
            return ((0, signal.SIGINT), (self.seconds_to_obey, signal.SIGTERM), (self.seconds_to_obey, signal.SIGKILL))
        return ((0, signal.SIGTERM), (self.grace_seconds, signal.SIGKILL))


@dataclass(frozen=True, slots=True)
class Verdict:
    """How an attempt comes out: the exit code, a sentence for the user, and whether another attempt may do better."""

    exit_code: int = 0
    sentence: str = ""
    may_try_again: bool = False
