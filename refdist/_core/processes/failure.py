"""An error that all workers raise: the first that anybody finds."""

import json
from typing import NamedTuple

from refdist._core.base.errors import DeadlineExceededError, MeetingError, WorkerLost

_TYPES: dict[str, type[Exception]] = {
    "MeetingError": MeetingError,
    "WorkerLost": WorkerLost,
    "DeadlineExceededError": DeadlineExceededError,
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
        f"call it without tf.function; else a number of Python that differs between workers, such as the worker's own, has become "
        f"part of it, or the function does something else there: pass such numbers as tensors.",
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
