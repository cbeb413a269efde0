"""Results: a status for each case, and the worst of them for each behavior."""

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from enum import Enum
from types import MappingProxyType
from typing import Any, cast

from conformance.printable import shortened


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
    NOT_RUN = "NOT RUN"
    """The check was left out, because a behavior that it needs is not kept, or because the run ended before; the detail says it."""
    XFAIL = "XFAIL"
    """The behavior is not kept, and the file of expected failures says so and why."""
    DIVERGES = "DIVERGES"
    """The behavior is not kept, and the implementation says so and why."""
    PASS = "PASS"
    """The behavior is kept."""
    SKIP = "SKIP"
    """Nothing can be said: the file of skipped checks says not to run it, and why."""
    UNSUPPORTED = "UNSUPPORTED"
    """Nothing can be said: there is no check, or the implementation lacks what the check needs, or is a variant of another
    one that differs only in what the check does not do."""


BROKEN = frozenset({Status.CRASH, Status.TIMEOUT, Status.ERROR, Status.FAIL})
"""A behavior with one of these is not kept, and that is not declared; checks that need it are not worth running."""
DECLARED = frozenset({Status.XFAIL, Status.DIVERGES})
"""Not kept, but declared with a reason; counts as conforming for the exit code."""
SILENT = frozenset({Status.SKIP, Status.UNSUPPORTED})
"""Nothing was checked."""


@dataclass(frozen=True, slots=True)
class Case:
    """One check with one replica count, on the implementation as it is or with a planted fault."""

    id: str
    replicas: int
    fault: str | None = None
    """The behavior whose fault is planted."""

    def __str__(self) -> str:
        planted = f", fault of {self.fault}" if self.fault else ""
        return f"{self.id} with {self.replicas} replica{'s' * (self.replicas > 1)}{planted}"


@dataclass(frozen=True, slots=True)
class Result:
    """How one case ended on one implementation; the replica count is None if there is no check.

    Its texts come from the implementation, and are shortened.
    """

    id: str
    implementation: str
    replicas: int | None
    status: Status
    detail: str = ""
    seconds: float = 0.0
    strategy: str = ""
    """The strategy that was built last, in words."""
    expected: str = ""
    got: str = ""

    def __post_init__(self) -> None:
        """Shorten the texts."""
        for name in ("detail", "strategy", "expected", "got"):
            object.__setattr__(self, name, shortened(getattr(self, name)))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values, for JSON."""
        return {**asdict(self), "status": self.status.value}

    @classmethod
    def from_dict(cls, values: object) -> "Result":
        """Make a result of untrusted plain values; fields that a later release has added are ignored."""
        if not isinstance(values, dict):
            raise ValueError(f"got a {type(values).__name__} as a result; expected an object with its fields")
        given = cast("dict[str, Any]", values)
        known: dict[str, Any] = {field.name: given[field.name] for field in fields(cls) if field.name in given}
        for name in ("id", "implementation", "replicas", "status"):
            if name not in known:
                raise ValueError(f"got a result without {name}; expected one with it")
        for name, value in known.items():
            kind, fits = _KINDS.get(name, ("a text", _is_text))
            if not fits(value):
                raise ValueError(f"got a {type(value).__name__} as {name} of a result; expected {kind}")
        known["status"] = Status(known["status"])
        return cls(**known)


def is_count(value: object) -> bool:
    """Tell whether a plain value is a whole number from 1 upwards."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def is_seconds(value: object) -> bool:
    """Tell whether a plain value is a time that can have passed."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= sys.float_info.max


def _is_text(value: object) -> bool:
    return isinstance(value, str)


_KINDS: Mapping[str, tuple[str, Callable[[object], bool]]] = MappingProxyType(
    {
        "replicas": ("a count from 1 upwards, or null", lambda value: value is None or is_count(value)),
        "status": (
            "one of " + ", ".join(status.value for status in Status),
            lambda value: value in [status.value for status in Status],
        ),
        "seconds": ("a number from 0 upwards", is_seconds),
    }
)
"""What the plain value of a field must be, if not a text, and the test for it."""


def worst(statuses: Iterable[Status]) -> Status:
    """Return the status of a behavior from the statuses of its cases.

    >>> worst([Status.PASS, Status.UNSUPPORTED]).name
    'PASS'
    >>> worst([Status.PASS, Status.FAIL, Status.ERROR]).name
    'ERROR'
    """
    return min(statuses, key=list(Status).index)
