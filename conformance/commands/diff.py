"""`diff`: in which behaviors two reports differ."""

import argparse
from dataclasses import replace

from rich.console import Console

from conformance import catalogue, comparing, html
from conformance.commands.run import require_template
from conformance.merged_reports import merged
from conformance.output import BROKEN, complain, nothing_selected, save, write
from conformance.report import Report
from conformance.runner import SuiteError
from conformance.selection import Selection


def command(options: argparse.Namespace) -> int:
    """Print where two sides differ, and why, what is newly broken first."""
    require_template(options)
    selected = Selection(areas=tuple(options.area), keywords=tuple(options.k)).of(catalogue.load())
    if not selected:
        return nothing_selected()
    try:
        old, new = (comparing.side(name, selected) for name in (options.old, options.new))
    except SuiteError as error:
        complain(str(error))
        return BROKEN
    found = comparing.differences(old, new, selected)
    if options.json is not None:
        save(options.json, comparing.to_json(old, new, selected))
    if options.html is not None:
        ids = {behavior.id for behavior in selected}
        sides = [_alone(side, ids) for side in (old, new)]
        page = merged(dict(zip(("old", "new"), sides, strict=True)))
        save(options.html, html.render(page, comparison=(old, new, found)))
    write(comparing.render(old, new, selected, Console()))
    return int(any(comparing.fails(difference.statuses, options.fail_on) for difference in found))


def _alone(side: comparing.Side, ids: set[str]) -> Report:
    """Return the report of one side with its implementation only, under the label of the side, and the selected behaviors only."""
    report = side.report
    results = [result for result in report.results if result.implementation == side.implementation and result.id in ids]
    facts = {name: facts for name, facts in report.certified.items() if name == side.implementation}
    return replace(report, results=tuple(results), certified=facts)
