"""What came out: a status for each case, and the worst of them for each behavior."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class Status(Enum):
    """How a case ended; the worst stands first."""

    CRASH = "CRASH"
    """The process died."""
    TIMEOUT = "TIMEOUT"
    """The check did not end in time."""
    ERROR = "ERROR"
    """The check stopped at an exception that it did not expect."""
    FAIL = "FAIL"
    """The behavior is not kept."""
    DIVERGES = "DIVERGES"
    """The behavior is not kept, and the implementation says so and why."""
    PASS = "PASS"
    """The behavior is kept."""
    UNSUPPORTED = "UNSUPPORTED"
    """Nothing can be said: there is no check, or the implementation has not what the check needs."""


@dataclass(frozen=True, slots=True)
class Case:
    """One check with one replica count."""

    id: str
    replicas: int

    def __str__(self) -> str:
        return f"{self.id} with {self.replicas} replica{'s' * (self.replicas > 1)}"


@dataclass(frozen=True, slots=True)
class Result:
    """How one case ended on one implementation; without a replica count, no case could be made."""

    id: str
    implementation: str
    replicas: int | None
    status: Status
    detail: str = ""
    seconds: float = 0.0


def worst(statuses: Iterable[Status]) -> Status:
    """Return the status of a behavior from the statuses of its cases.

    >>> worst([Status.PASS, Status.UNSUPPORTED]).name
    'PASS'
    >>> worst([Status.PASS, Status.FAIL, Status.ERROR]).name
    'ERROR'
    """
    return min(statuses, key=list(Status).index)
