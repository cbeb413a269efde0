"""`update-xfails`: write the file of expected failures of an implementation, and keep the known reasons."""

import argparse

from conformance import catalogue, declarations
from conformance.commands.run import in_catalogue_order, run_jobs
from conformance.output import complain, nothing_selected, save, write
from conformance.runner import Job
from conformance.selection import Selection


def command(options: argparse.Namespace) -> int:
    """Run an implementation without expected failures, and rewrite their file from the results."""
    behaviors = Selection(areas=tuple(options.area), keywords=tuple(options.k)).of(catalogue.load())
    job = Job(
        options.impl,
        tuple(behavior.id for behavior in behaviors),
        timeout=options.timeout,
        start_timeout=options.start_timeout,
        checks=options.checks,
        workers=options.n,
        patient=True,
    )
    checks = job.loaded_checks()
    before = ""
    if options.file.exists():
        declarations.read(options.file, {id: check.replicas for id, check in checks.items()})
        before = options.file.read_text(encoding="utf-8")
    results, code = run_jobs([job])
    if code:
        complain(f"the run is not complete; expected all results. {options.file} is as it was.")
        return code
    if not results:
        return nothing_selected()
    after = declarations.rewritten(before, in_catalogue_order(results, [job.implementation]))
    save(options.file, after)
    write(f"{options.file}: {_entries(after)} expected to fail; there were {_entries(before)}\n")
    return 0


def _entries(text: str) -> int:
    return sum(bool(declarations.split(line)[0]) for line in text.splitlines())
