"""Why behaviors are broken: failures that have one cause are told as one."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from conformance.report import Report
from conformance.results import BROKEN, Result, Status

LOST = frozenset({Status.CRASH, Status.TIMEOUT})


@dataclass(frozen=True)
class Cause:
    """What broke behaviors of one implementation; each has the first of its worst cases here, in catalogue order."""

    text: str
    cases: tuple[Result, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """The behaviors that it broke."""
        return tuple(case.id for case in self.cases)


def causes(report: Report, implementation: str) -> list[Cause]:
    """Return what is broken on an implementation, by cause: the cause of most behaviors first."""
    broken = [
        next(case for case in report.cases(behavior.id, implementation) if case.status is status)
        for behavior in report.behaviors
        if (status := report.statuses.get((behavior.id, implementation))) in BROKEN
    ]
    return grouped(broken)


def grouped(results: Iterable[Result]) -> list[Cause]:
    """Group failures by cause: the same missing name, the same line of the implementation, or the same message."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        groups.setdefault(_key(result), []).append(result)
    found = [Cause(_headline(cases[0]), tuple(cases)) for cases in groups.values()]
    return sorted(found, key=lambda cause: -len(cause.cases))


def _key(result: Result) -> tuple[str, str]:
    """Return what failures of one cause share; a comparison that failed shares nothing with that of another check."""
    message = _message(result)
    if (missing := _MISSING.search(message)) is not None:
        return "missing", missing[1]
    kind, _, said = message.partition(":")
    own = [line for line in _FRAME.findall(result.detail) if not _SUITE.search(line)]
    if result.status in LOST:
        return message, own[0] if own else ""
    if not _EXCEPTION.match(message):
        place = _PLACE.search(result.detail)
        return message, place[0] if place else result.id
    return kind, own[-1] if own and result.status is Status.ERROR else _NUMBER.sub("N", said)


def _headline(result: Result) -> str:
    """Say in one line what happened."""
    message = _message(result)
    missing = _MISSING.search(message)
    return f"no attribute {missing[1]}" if missing else message


def _message(result: Result) -> str:
    """Return the exception that ended a check, or that it got in place of another, or what it expected and got."""
    if result.status is Status.FAIL and result.got and not _EXCEPTION.match(result.got):
        return f"expected {' '.join(result.expected.split())}, got {' '.join(result.got.split())}"
    text = result.got if result.status is Status.FAIL and result.got else result.detail
    return _ADDRESS.sub("", next(iter(text.splitlines()), ""))


_MISSING = re.compile(r"^AttributeError: .*has no attribute ('[^']*')")
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(Error|Exception|Exit|Interrupt|Warning|Iteration|Failed)(:|$)")
_FRAME = re.compile(r'^(?:\S+:\d+(?=: in )|  File "[^"]+", line \d+ in \S+)', re.MULTILINE)
"""A frame as `short_traceback` or as Python's faulthandler writes it."""
_SUITE = re.compile(r"(?:^|[/\\\"])conformance[/\\](?:\w+[/\\])?\w+\.py|<frozen|[/\\]python3[^/\\]*[/\\]\w+\.py")
_PLACE = re.compile(r"^at .*$", re.MULTILINE)
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_NUMBER = re.compile(r"\d+")
