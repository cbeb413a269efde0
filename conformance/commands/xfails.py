"""`update-xfails`: write the file of expected failures of an implementation, and keep the known reasons."""

import argparse

from conformance import catalogue, declarations, last
from conformance.commands.run import in_catalogue_order, run_jobs
from conformance.implementations import UsageError
from conformance.output import complain, nothing_selected, save, write
from conformance.results import Result
from conformance.runner import Job
from conformance.selection import Selection


def command(options: argparse.Namespace) -> int:
    """Run an implementation without expected failures, or read what a run found, and rewrite their file from the results."""
    known = _reported(options)
    if known is None and options.impl is None:
        raise UsageError("got neither --impl nor --from; expected what to run, or its report. Add --impl NAME.")
    behaviors = Selection(areas=tuple(options.area), keywords=tuple(options.k)).of(catalogue.load())
    job = Job(
        options.impl or "",
        tuple(behavior.id for behavior in behaviors),
        timeout=options.timeout,
        start_timeout=options.start_timeout or options.timeout,
        checks=options.checks,
        workers=options.n,
        patient=True,
    )
    checks = job.loaded_checks()
    before = ""
    if options.file.exists():
        declarations.read(options.file, {id: check.replicas for id, check in checks.items()})
        before = options.file.read_text(encoding="utf-8")
    ids = set(job.ids)
    results, code = run_jobs([job]) if known is None else ([result for result in known if result.id in ids], 0)
    if code:
        complain(f"the run is not complete; expected all results. {options.file} is as it was.")
        return code
    if not results:
        return nothing_selected()
    after = declarations.rewritten(before, in_catalogue_order(results, [result.implementation for result in results]))
    save(options.file, after)
    write(f"{options.file}: {_entries(after)} expected to fail; there were {_entries(before)}\n")
    return 0


def _reported(options: argparse.Namespace) -> list[Result] | None:
    """Return the results of the report that is named, as they would be without expected failures."""
    if options.source is None:
        return None
    report = last.load(options.source)
    name = options.impl or (report.implementations[0] if len(report.implementations) == 1 else "")
    if name not in report.implementations or not report.complete:
        found = (
            f"{'a' if report.complete else 'an incomplete'} report of {', '.join(report.implementations) or 'nothing'}"
        )
        raise UsageError(
            f"got {options.source}, {found}; expected a complete one, with the implementation that --impl names. "
            f"Name one of them, or run it to its end."
        )
    return [declarations.undeclared(result) for result in report.results if result.implementation == name]


def _entries(text: str) -> int:
    return sum(bool(declarations.split(line)[0]) for line in text.splitlines())
