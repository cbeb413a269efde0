"""An error that all workers raise: the first that anybody finds."""

import json
from typing import NamedTuple

from refdist._core.base.errors import DeadlineExceededError, MeetingError, WorkerLost

_TYPES: dict[str, type[Exception]] = {
    "MeetingError": MeetingError,
    "WorkerLost": WorkerLost,
    "DeadlineExceededError": DeadlineExceededError,
    "RuntimeError": RuntimeError,
}


class Failure(NamedTuple):
    """What is wrong, in a form that every worker gets."""

    name: str  # of the error's type
    text: str

    def error(self) -> Exception:
        """To be raised."""
        return _TYPES[self.name](self.text)

    def encoded(self) -> bytes:
        """To be published."""
        return json.dumps(self).encode()

    @staticmethod
    def of(data: bytes) -> "Failure":
        """What was published."""
        return Failure(*json.loads(data))


def not_met(count: int, table: str) -> Failure:
    """Workers that should do the same thing do different ones."""
    return Failure(
        "MeetingError",
        f"The {count} workers do not meet:\n{table}\n"
        f"Expected all of them to come to the same call, from the same line, with the same operator, shapes and dtypes. Make the "
        f"call on every worker, in the same order; give a neutral value where one has nothing to add.",
    )


def other_programs(rows: str, place: str) -> Failure:
    """Workers have made different programs of one function."""
    return Failure(
        "MeetingError",
        f"The workers have compiled different programs at {place}:\n{rows}\n"
        f"Expected one program, because all workers run it together. Where the tensors have different shapes, make them alike, or "
        f"call it without tf.function. Else the function does something else on some workers, or a number of Python that differs "
        f"between them, such as the worker's own, reaches a mirrored variable: reduce what is made from it first.",
    )


def diverged(rows: str) -> Failure:
    """Workers have done different things, and nobody had to wait for it."""
    return Failure(
        "MeetingError",
        f"The workers have done different things together, so that what they computed is wrong:\n{rows}\n"
        f"Expected the same programs and calls on every worker, in the same order. Look for what depends on the worker's "
        f"number, and start all workers again, from the last good checkpoint.",
    )


def lost(who: str, how: str, table: str) -> Failure:
    """A worker will not come any more."""
    return Failure(
        "WorkerLost",
        f"{who} {how}, while others wait for it:\n{table}\n"
        f"Expected all workers to go on until the end. Find out there what ended it, and start all workers again, from the last "
        f"checkpoint.",
    )


def silent(who: str, seconds: float, table: str) -> Failure:
    """A worker gives no sign of life."""
    return Failure(
        "WorkerLost",
        f"{who} has given no sign of life for {seconds:.0f} s, while others wait for it:\n{table}\n"
        f"Expected a sign from every worker all the time. Find out there what ended or stopped it, and start all workers again, "
        f"from the last checkpoint; if it was busy in one long call of Python that lets no other thread run, raise the limit with "
        f"refdist.cluster.set_limits(silence_seconds=...).",
    )


def unreachable(who: str, why: object) -> Failure:
    """The coordination service, and so every other worker, cannot be reached."""
    return Failure(
        "WorkerLost",
        f"{who} does not reach the coordination service any more ({str(why).partition(chr(10))[0]}); expected it to be there until "
        f"the end, in worker 0 or in the launcher. Find out what ended that, and start all workers again, from the last "
        f"checkpoint.",
    )


def forked(who: str) -> Failure:
    """A process that a worker has forked is no worker."""
    return Failure(
        "RuntimeError",
        f"A process that was forked from {who} was to meet the other workers; expected only the worker itself to do so. Let it "
        f"do there what all workers do together.",
    )


def over(who: str) -> Failure:
    """A worker has told the others that its program has ended."""
    return Failure(
        "RuntimeError",
        f"{who} was to meet the other workers after the end of its program, such as in atexit; expected it to do so before. Do "
        f"it in the last line of the program.",
    )


def too_late(who: str, table: str) -> Failure:
    """A worker has not come within the time that the user has set."""
    return Failure(
        "DeadlineExceededError",
        f"{who} has not come within the timeout_seconds of CommunicationOptions:\n{table}\n"
        f"Expected all workers to come in time. See what it does in that line, or allow for more time.",
    )


def stuck(who: str, seconds: float, table: str) -> Failure:
    """A worker is alive, but does not come."""
    return Failure(
        "WorkerLost",
        f"{who} is alive, but has not come for {seconds:.0f} s, while others wait for it:\n{table}\n"
        f"Expected all workers to do the same in about the same time. See what it does in that line; if it may take longer, raise "
        f"the limit with refdist.cluster.set_limits(stall_limit=...).",
    )
