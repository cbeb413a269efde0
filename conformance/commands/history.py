"""`history`: how the results of implementations changed over several runs."""

import argparse
from collections.abc import Iterator
from itertools import pairwise

from rich.console import Console
from rich.table import Table

from conformance.commands.report_page import loaded
from conformance.comparing import REGRESSED, Side, is_regression
from conformance.output import write
from conformance.results import BROKEN, DECLARED, SILENT, Status

IDS_SHOWN = 8
COLUMNS = {
    "kept": frozenset({Status.PASS}),
    "broken": BROKEN | {Status.NOT_RUN},
    "declared": DECLARED,
    "silent": SILENT,
}


def command(options: argparse.Namespace) -> int:
    """Print one row for each run of each implementation, and below it what was gained and lost since the run before."""
    console = Console()
    with console.capture() as capture:
        for name, sides in _by_implementation(options.reports).items():
            console.print(name, style="bold", soft_wrap=True)
            console.print(_table(sides))
            for line in _changes(sides):
                console.print(line)
            console.print()
    write("".join(f"{line.rstrip()}\n" for line in capture.get().splitlines()))
    return 0


def _by_implementation(names: list[str]) -> dict[str, list[Side]]:
    """Return the runs of each implementation, those that say their date in its order."""
    found: dict[str, list[Side]] = {}
    for label, report in loaded(names).items():
        for name in report.implementations:
            found.setdefault(name, []).append(Side(label, report, name))
    for sides in found.values():
        if all(_fact(side, "date") for side in sides):
            sides.sort(key=lambda side: _fact(side, "date"))
    return found


def _table(sides: list[Side]) -> Table:
    table = Table(box=None, padding=(0, 1), pad_edge=False)
    for heading in ("run", "date", "version", "commit"):
        table.add_column(heading)
    for heading in (*COLUMNS, "gained", "lost"):
        table.add_column(heading, justify="right")
    for before, side in zip([None, *sides], sides, strict=False):
        totals = side.report.totals(side.implementation)
        counts = [str(sum(totals[status] for status in statuses)) for statuses in COLUMNS.values()]
        changes = [str(len(changed)) for changed in _changed(before, side)] if before else ["", ""]
        facts = [_fact(side, "date")[:10], _fact(side, "version"), _fact(side, "commit")[:8]]
        table.add_row(side.label, *(fact or "-" for fact in facts), *counts, *changes)
    return table


def _changes(sides: list[Side]) -> Iterator[str]:
    """Say by name what changed from run to run."""
    for before, side in pairwise(sides):
        for word, ids in zip(("gained", "lost"), _changed(before, side), strict=True):
            if ids:
                more = f" and {len(ids) - IDS_SHOWN} more" if len(ids) > IDS_SHOWN else ""
                yield f"  {side.label} {word} {', '.join(ids[:IDS_SHOWN])}{more}"


def _changed(before: Side, side: Side) -> tuple[list[str], list[str]]:
    """Return the behaviors that are kept since, and those that are broken since."""
    ids = [behavior.id for behavior in side.report.behaviors]
    gained = [id for id in ids if side.status(id) is Status.PASS and before.status(id) in REGRESSED]
    return gained, [id for id in ids if is_regression((before.status(id), side.status(id)))]


def _fact(side: Side, name: str) -> str:
    return side.report.certified.get(side.implementation, {}).get(name, "")
