"""`report`: several reports side by side, as one."""

import argparse
import pathlib
from collections.abc import Iterable
from dataclasses import replace

from rich.console import Console

from conformance import last, terminal
from conformance.commands.run import require_template, save_all
from conformance.merged_reports import merged
from conformance.output import write
from conformance.recorded import recorded
from conformance.report import RECORD, Report


def command(options: argparse.Namespace) -> int:
    """Print reports as one, and write it to files; the exit code is that of a run with these results."""
    require_template(options)
    report = merged(loaded(options.reports))
    save_all(options, report)
    write(terminal.render(report, Console(), verbose=options.verbose))
    return report.exit_code()


def loaded(names: Iterable[str]) -> dict[str, Report]:
    """Read reports, each under the shortest end of its path that no other one has."""
    given = list(dict.fromkeys(names))
    return {label: _loaded(name) for name, label in zip(given, _labels(given), strict=True)}


def _loaded(name: str) -> Report:
    if not name.startswith(RECORD):
        return last.load(pathlib.Path(name))
    report = recorded(name.removeprefix(RECORD))
    results = tuple(replace(result, implementation=name) for result in report.results)
    return replace(report, results=results, certified={name: next(iter(report.certified.values()), {})})


def _labels(names: list[str]) -> list[str]:
    """Shorten the paths of reports, as far as they stay different.

    >>> _labels(["runs/monday.json", "runs/tuesday.json"]), _labels(["one/report.json", "two/report.json"])
    (['monday', 'tuesday'], ['one/report', 'two/report'])
    """
    parts = [pathlib.PurePath(name).with_suffix("").parts for name in names]
    for count in range(1, max(map(len, parts)) + 1):
        found = ["/".join(each[-count:]) for each in parts]
        if len(set(found)) == len(names):
            return found
    return names
