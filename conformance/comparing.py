"""Compares two reports, behavior by behavior: `python -m conformance diff`."""

import json
import pathlib
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from conformance import last
from conformance.catalogue import Behavior
from conformance.describing import describe
from conformance.implementations import Description, UnknownName
from conformance.output import progress
from conformance.printable import printable
from conformance.recorded import recorded
from conformance.report import RECORD, Report, versions
from conformance.results import BROKEN, Result, Status
from conformance.runner import Job, case_count, run
from conformance.selection import Selection
from conformance.terminal import COLOURS

DEFAULT = ("simulator", "recorded:tensorflow")
"""What is compared by default."""
FAIL_ON = ("regression", "lost", "difference", "nothing")
"""On which differences a comparison fails: each kind includes those before it, and the last one none."""
REGRESSED = BROKEN | {Status.NOT_RUN}
ABSENT = "absent"

Statuses = tuple[Status | None, Status | None]
"""What each side found."""


@dataclass(frozen=True)
class Side:
    """One implementation in one report."""

    label: str
    report: Report
    implementation: str

    def status(self, id: str) -> Status | None:
        """Return the status of a behavior, or None if the report does not have it."""
        return self.report.statuses.get((id, self.implementation))

    def reason(self, id: str) -> str:
        """Return why a behavior has its status, with the replica counts if it has a better status with others."""
        cases = self.report.cases(id, self.implementation)
        found = [case for case in cases if case.status is self.status(id)]
        if not found or not found[0].detail:
            return ""
        better = [case for case in cases if case not in found and case.status is not Status.UNSUPPORTED]
        counts = ", ".join(str(case.replicas) for case in found)
        return f"{found[0].detail} (replicas {counts})" if better else found[0].detail


@dataclass(frozen=True)
class Difference:
    """Behaviors in which two sides differ, in the same way and for the same reasons."""

    behaviors: tuple[Behavior, ...]
    statuses: Statuses
    reasons: tuple[str, str]

    @property
    def is_regression(self) -> bool:
        """Whether they are broken on the second side only."""
        return is_regression(self.statuses)


def is_regression(statuses: Statuses) -> bool:
    """Tell whether something is broken now that was not."""
    return statuses[0] not in REGRESSED and statuses[1] in REGRESSED


def fails(statuses: Statuses, fail_on: str) -> bool:
    """Tell whether a difference makes a comparison fail."""
    lost = statuses[0] is Status.PASS and statuses[1] is not Status.PASS
    kinds = {"regression": is_regression(statuses), "lost": is_regression(statuses) or lost, "difference": True}
    return kinds.get(fail_on, False)


def side(name: str, behaviors: Sequence[Behavior]) -> Side:
    """Return what a name stands for: recorded:NAME, the file of a report, or an implementation, which is run now.

    FILE#IMPLEMENTATION chooses one of several implementations in a file.
    """
    path, _, chosen = name.partition("#")
    if name.startswith(RECORD):
        report, known = recorded(name.removeprefix(RECORD)), ""
    elif pathlib.Path(path).is_file():
        report, known = last.load(pathlib.Path(path)), chosen
    else:
        report, known = _run_now(describe(name), behaviors), ""
    found = report.implementations
    if known not in found and (known or len(found) != 1):
        raise UnknownName(
            f"got {name!r}, a report of {', '.join(found) or 'nothing'}; expected one implementation. "
            f"Name one of them after the file: {path}#NAME."
        )
    return Side(name, report, known or found[0])


def _run_now(implementation: Description, behaviors: Sequence[Behavior]) -> Report:
    """Run the checks of these behaviors on an implementation."""
    start = time.monotonic()
    job = Job(implementation.name, tuple(behavior.id for behavior in behaviors), described=implementation)
    found: list[Result] = []
    with progress(sys.stderr, case_count(job)) as (started, finished), closing(run(job, started)) as results:
        for result in results:
            found.append(result)
            finished()
    return Report(tuple(found), time.monotonic() - start, Selection((implementation.name,)), versions())


def differences(one: Side, other: Side, behaviors: Sequence[Behavior]) -> list[Difference]:
    """Return where two sides differ, in catalogue order; behaviors with equal statuses and reasons form one difference."""
    groups: dict[tuple[Statuses, tuple[str, str]], list[Behavior]] = {}
    for behavior in behaviors:
        statuses = one.status(behavior.id), other.status(behavior.id)
        if statuses[0] is not statuses[1]:
            reasons = one.reason(behavior.id), other.reason(behavior.id)
            groups.setdefault((statuses, reasons), []).append(behavior)
    return [Difference(tuple(group), *key) for key, group in groups.items()]


def to_json(old: Side, new: Side, behaviors: Sequence[Behavior]) -> str:
    """Write the differences of two sides as a JSON document, regressions first."""
    found = sorted(differences(old, new, behaviors), key=lambda difference: _severity(difference.statuses))
    document = {
        "schema_version": 1,
        "old": old.label,
        "new": new.label,
        "regressions": [each.id for one in found if is_regression(one.statuses) for each in one.behaviors],
        "differences": [
            {
                "behaviors": [behavior.id for behavior in difference.behaviors],
                "regression": is_regression(difference.statuses),
                "old": difference.statuses[0].value if difference.statuses[0] else None,
                "new": difference.statuses[1].value if difference.statuses[1] else None,
                "old_reason": difference.reasons[0],
                "new_reason": difference.reasons[1],
            }
            for difference in found
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def render(one: Side, other: Side, behaviors: Sequence[Behavior], console: Console) -> str:
    """Write the differences of two sides for the width and the colours of a console."""
    with console.capture() as capture:
        for text in _parts(one, other, behaviors):
            console.print(text)
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def _parts(one: Side, other: Side, behaviors: Sequence[Behavior]) -> Iterator[Text | Padding]:
    """Yield the differences under a heading for each pair of statuses, then the totals."""
    found = differences(one, other, behaviors)
    pairs = sorted({difference.statuses for difference in found}, key=_severity)
    for pair in pairs:
        group = [difference for difference in found if difference.statuses == pair]
        count = sum(len(difference.behaviors) for difference in group)
        mark = Text("Regression: ", "bold red") if is_regression(pair) else Text()
        heading = mark.append_text(Text(f"{one.label} ")).append_text(_word(pair[0])).append(f", {other.label} ")
        yield heading.append_text(_word(pair[1])).append(f": {count} behavior{'s' * (count > 1)}")
        for difference in group:
            yield from _shown(difference, one, other)
        yield Text()
    differing = sum(len(difference.behaviors) for difference in found)
    for each in (one, other):
        totals = Counter(each.status(behavior.id) for behavior in behaviors)
        counts = ", ".join(f"{totals[status]} {status.value}" for status in Status if totals[status])
        yield Text(f"{each.label}: {counts}")
    worse = sum(len(difference.behaviors) for difference in found if is_regression(difference.statuses))
    regressions = f", {worse} of them {'a regression' if worse == 1 else 'regressions'}" if worse else ""
    yield Text(f"They differ in {differing} of {len(behaviors)} behaviors{regressions}.")


def _shown(difference: Difference, one: Side, other: Side) -> Iterator[Text | Padding]:
    """Yield the behaviors of a difference, one line each, and below them what each side says about them."""
    for behavior in difference.behaviors:
        yield Padding(Text(f"{behavior.id}  {behavior.title}"), (0, 0, 0, 2))
    for each, reason in zip((one, other), difference.reasons, strict=True):
        if reason:
            yield Padding(Text(f"{each.label}: {printable(reason)}", "dim"), (0, 0, 0, 6))


def _word(status: Status | None) -> Text:
    return Text(status.value, COLOURS[status]) if status else Text(ABSENT)


def _severity(pair: Statuses) -> tuple[bool, list[int], list[int]]:
    """Order pairs so that regressions come first, then those with the worst status, and those that say nothing last."""
    order = [*Status, None]
    numbers = [order.index(status) for status in pair]
    return not is_regression(pair), sorted(numbers), numbers
