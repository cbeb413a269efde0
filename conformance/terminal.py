"""The rendering of a report for a terminal: plain text that is readable at 80 columns, with or without colour."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from conformance import catalogue
from conformance.catalogue import Behavior
from conformance.causes import Cause, causes
from conformance.documented_places import check_place, sections
from conformance.printable import printable
from conformance.report import Report, reproduction
from conformance.results import BROKEN, Result, Status

# The order in which a reader looks for them, which is not the order of severity.
SHOWN = (
    Status.PASS,
    Status.FAIL,
    Status.ERROR,
    Status.TIMEOUT,
    Status.CRASH,
    Status.NOT_RUN,
    Status.DIVERGES,
    Status.XFAIL,
    Status.UNSUPPORTED,
    Status.SKIP,
)
COLOURS = {
    Status.PASS: "green",
    Status.FAIL: "red",
    Status.ERROR: "red",
    Status.TIMEOUT: "red",
    Status.CRASH: "bold red",
    Status.NOT_RUN: "magenta",
    Status.DIVERGES: "yellow",
    Status.XFAIL: "yellow",
    Status.UNSUPPORTED: "dim",
    Status.SKIP: "dim",
}
UNBROKEN_SPACE = "\u00a0"
BY_REASON = tuple(status for status in SHOWN if status is not Status.PASS and status not in BROKEN)
IDS_SHOWN = 8
LONG = 5
"""A text with more lines is printed only once."""


def render(report: Report, console: Console, *, verbose: bool = False) -> str:
    """Write the report for the width and the colours of a console."""
    with console.capture() as capture:
        _show(report, console, verbose)
    lines = capture.get().replace(UNBROKEN_SPACE, " ").splitlines()
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _show(report: Report, console: Console, verbose: bool) -> None:
    """Print the grid, then what is declared or could not be checked, then what is broken, and finally the totals."""
    console.print(_behavior_grid(report) if verbose else _area_grid(report))
    for name in report.implementations:
        _show_reasons(report, name, console)
    for name in report.implementations:
        found = causes(report, name)
        broken = sum(len(cause.ids) for cause in found)
        if len(found) < broken:
            hint = "" if verbose else " One of each is shown; -v shows all."
            line = f"\n{broken} behaviors are broken on {name}, by {len(found)} cause{'s' * (len(found) > 1)}.{hint}"
            console.print(Text(line))
        shown: set[str] = set()
        for cause in found:
            for id in cause.ids if verbose else cause.ids[:1]:
                shown.add(_show_finding(report, catalogue.load()[id], name, console, shown))
            if len(cause.ids) > 1:
                console.print(Padding(_same_cause(cause), (0, 0, 0, 2)))
    console.print()
    for name in report.implementations:
        line = Text(f"{name}: ").append_text(_counts(report.totals(name), separator=", "))
        console.print(line.append(f" of {len(report.behaviors)} behaviors"), soft_wrap=True)
    if not report.complete:
        console.print(Text("The run was not completed; this is what was done."))


def _area_grid(report: Report) -> Table:
    """Make one row per area: for each implementation, how many behaviors have which status."""
    table = Table(box=None, padding=(0, 1), pad_edge=False)
    table.add_column("area", no_wrap=True)
    for heading in _headings(report.implementations):
        table.add_column(heading)
    for area in dict.fromkeys(behavior.area for behavior in report.behaviors):
        table.add_row(area, *(_counts(report.totals(name, area)) for name in report.implementations))
    return table


def _behavior_grid(report: Report) -> Table:
    """Make one row per behavior: its status on each implementation."""
    table = Table(box=None, padding=(0, 1), pad_edge=False)
    table.add_column("id", no_wrap=True)
    table.add_column("behavior")
    for heading in _headings(report.implementations):
        table.add_column(heading, no_wrap=True)
    for behavior in report.behaviors:
        found = [report.statuses.get((behavior.id, name)) for name in report.implementations]
        cells = [Text(status.value, COLOURS[status]) if status else Text("-") for status in found]
        table.add_row(behavior.id, Text(behavior.title), *cells)
    return table


def _headings(names: Sequence[str]) -> list[str]:
    """Shorten package.module:object to the object for the heading of a column, if that is unambiguous."""
    short = [name.rpartition(":")[2] for name in names]
    return short if len(set(short)) == len(short) else list(names)


def _counts(totals: Counter[Status], separator: str = " ") -> Text:
    """Write the counts that are not zero, each with its word."""
    words = [
        Text(f"{totals[status]}{UNBROKEN_SPACE}{status.value}", COLOURS[status]) for status in SHOWN if totals[status]
    ]
    return Text(separator).join(words)


def _show_finding(
    report: Report, behavior: Behavior, implementation: str, console: Console, shown: Collection[str]
) -> str:
    """Print what is promised, what was found in the first of the worst cases, and how to see it again.

    If the same long text was shown before, only its first line is printed: when nothing could be started, for example.
    """
    status = report.statuses[behavior.id, implementation]
    cases = report.cases(behavior.id, implementation)
    found = [case for case in cases if case.status is status]
    heading = Text(f"\n{behavior.id} ").append(status.value, COLOURS[status])
    console.print(heading.append(f" on {implementation}: {behavior.title} ({_counts_of(found, cases)})"))
    console.print(Padding(Text(behavior.statement), (0, 0, 0, 2)))
    detail = found[0].detail
    text = f"{detail.splitlines()[0]} (as above)" if detail in shown and detail.count("\n") >= LONG else detail
    console.print(Padding(Text(printable(text)), (0, 0, 0, 4)))
    # Not wrapped, so that they can be copied.
    for line in _places(report, behavior):
        console.print(Text(f"  {line}", "dim"), soft_wrap=True)
    console.print(Text(f"  {reproduction(report.selection, found[0])}", "cyan"), soft_wrap=True)
    return detail


def _places(report: Report, behavior: Behavior) -> list[str]:
    """Say where a behavior is documented and where it is checked."""
    place = "" if report.selection.checks else check_place(behavior.id)
    return [sections(behavior)[0].address, *([f"check: {place}"] if place else [])]


def _same_cause(cause: Cause) -> Text:
    """Say which other behaviors break for the same reason."""
    text = Text("The same cause, ").append(printable(cause.text), "bold")
    return text.append(f", breaks {len(cause.ids)} behaviors: ").append(_listed(cause.ids), "dim")


def _listed(ids: Sequence[str]) -> str:
    return ", ".join(ids[:IDS_SHOWN]) + (f" and {len(ids) - IDS_SHOWN} more" if len(ids) > IDS_SHOWN else "")


def _counts_of(found: list[Result], cases: list[Result]) -> str:
    """Say with which replica counts it happened, and out of which if not with all."""
    some, all = (", ".join(str(case.replicas) for case in group) for group in (found, cases))
    return f"replicas {some}" if some == all else f"replicas {some} of {all}"


def _show_reasons(report: Report, implementation: str, console: Console) -> None:
    """Print why behaviors are declared not to be kept, or why nothing could be said about them."""
    for status in BY_REASON:
        reasons: dict[str, list[str]] = {}
        for behavior in report.behaviors:
            if report.statuses.get((behavior.id, implementation)) is status:
                cases = report.cases(behavior.id, implementation)
                reason = next(case.detail for case in cases if case.status is status)
                reasons.setdefault(reason, []).append(behavior.id)
        if reasons:
            heading = Text("\n").append(status.value, COLOURS[status])
            console.print(heading.append(f" on {implementation}, by reason"))
            console.print(_reason_table(reasons))


def _reason_table(reasons: Mapping[str, list[str]]) -> Table:
    """Make one row per reason, the most frequent first: for how many behaviors, and for which."""
    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right", width=6)
    table.add_column()
    for reason, ids in sorted(reasons.items(), key=lambda entry: -len(entry[1])):
        text = Text(f"{printable(reason)}\n").append(_listed(ids), "dim")
        table.add_row(str(len(ids)), text)
    return table
