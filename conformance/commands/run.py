"""`run`: check implementations, and report which promises each keeps."""

import argparse
import functools
import importlib.util
import pathlib
import shlex
import time
from collections.abc import Iterable, Mapping
from types import FunctionType

from rich.console import Console

from conformance import badge, catalogue, declarations, html, junit, last, terminal
from conformance.checks import Check
from conformance.declarations import Declarations
from conformance.describing import NotStarted, describe
from conformance.implementations import UsageError, locate, origins
from conformance.output import collected, complain, nothing_selected, save, write
from conformance.report import Report, versions
from conformance.results import Result
from conformance.runner import Job, run
from conformance.selection import Selection


def command(options: argparse.Namespace) -> int:
    """Check implementations one after another, and print the report even if the run is interrupted."""
    earlier = _earlier(options)
    selection = chosen(options, earlier)
    jobs = [job for job in _jobs(options, selection, earlier) if job.ids]
    start = time.monotonic()
    results, code = run_jobs(jobs)
    ordered = tuple(in_catalogue_order(results, [job.implementation for job in jobs]))
    report = Report(ordered, time.monotonic() - start, selection, versions(), complete=code == 0)
    for file, render in (
        (options.json, Report.to_json),
        (options.html, html.render),
        (options.junit_xml, junit.render),
        (options.badge, badge.render),
    ):
        if file is not None:
            save(file, render(report))
    if results:
        _keep(report)
    if results or code:
        write(terminal.render(report, Console(), verbose=options.verbose))
        write(f"mode {selection.mode}, seed {selection.seed}\n")
    else:
        return nothing_selected("nothing failed in that run, or nothing of it is selected" if earlier else None)
    return code or report.exit_code()


def run_jobs(jobs: Iterable[Job]) -> tuple[list[Result], int]:
    """Run jobs with a line of progress; return what was found, and an exit code if the run is not complete."""
    return collected(functools.partial(run, job) for job in jobs)


def chosen(options: argparse.Namespace, earlier: Report | None = None) -> Selection:
    """Return what the options ask for; the rest is as in the earlier run, if they name one."""
    before = earlier.selection if earlier else Selection(("simulator",))
    if options.failed_of is not None and not options.impl:
        _require_names(before.implementations, options.failed_of)
    mode = options.mode or before.mode
    if mode == "deep" and importlib.util.find_spec("hypothesis") is None:
        raise UsageError(
            "got --mode deep, and hypothesis is not installed; expected it, to draw values. "
            "Install it with `pip install hypothesis`, or use --mode full."
        )
    return Selection(
        tuple(options.impl or before.implementations),
        tuple(options.area),
        tuple(options.k),
        options.replicas,
        mode,
        before.seed if options.seed is None else options.seed,
    )


def _require_names(implementations: Iterable[str], file: pathlib.Path) -> None:
    """Refuse to import whatever a report names, because anybody may have written it; only installed packages have names."""
    places = [name for name in implementations if name not in origins()]
    if places:
        raise UsageError(
            f"got {file}, a report of {', '.join(places)}, without --impl; expected a report of {', '.join(origins())}, "
            f"because running another one imports it. Name it yourself, if you trust it: --impl {shlex.quote(places[0])}."
        )


def in_catalogue_order(results: Iterable[Result], implementations: Iterable[str]) -> list[Result]:
    """Sort results by implementation, behavior and replica count, whatever order they came in."""
    numbers = {id: number for number, id in enumerate(catalogue.load())}
    places = list(dict.fromkeys(implementations))
    return sorted(
        results, key=lambda result: (places.index(result.implementation), numbers[result.id], result.replicas or 0)
    )


def _earlier(options: argparse.Namespace) -> Report | None:
    """Return the run whose failures are to be run again, if one is named."""
    if options.failed_of is not None:
        return last.load(options.failed_of)
    return last.load(last.path()) if options.lf else None


def _jobs(options: argparse.Namespace, selection: Selection, earlier: Report | None) -> list[Job]:
    """Make one job for each implementation."""
    declared = _declarations(options, selection)
    jobs: list[Job] = []
    for name in dict.fromkeys(selection.implementations):
        only = last.failed(earlier, name) if earlier else None
        ids = tuple(behavior.id for behavior in selection.of(catalogue.load()))
        if only is not None:
            ids = tuple(id for id in ids if any(case.id == id for case in only))
        try:
            described = describe(name, options.start_timeout)
        except NotStarted as error:
            described = error
        job = Job(
            name,
            ids,
            selection.replicas or None,
            options.timeout,
            options.start_timeout,
            options.checks,
            mode=selection.mode,
            seed=selection.seed,
            workers=options.n,
            only=only,
            declarations=declared,
            described=described,
        )
        jobs.append(job)
    return jobs


def _declarations(options: argparse.Namespace, selection: Selection) -> Declarations:
    """Read the files that say what is expected to fail and what is not to be run."""
    if options.xfail is None and options.skip is None:
        return Declarations()
    if len(selection.implementations) > 1:
        raise UsageError(
            f"got --xfail or --skip with {len(selection.implementations)} implementations; expected one, "
            f"whose file it is. Run the implementations one by one."
        )
    checks: Mapping[str, Check] = locate(options.checks, FunctionType)()
    counts = {id: check.replicas for id, check in checks.items()}
    xfails, skips = (
        declarations.read(path, counts) if path is not None else {} for path in (options.xfail, options.skip)
    )
    return Declarations(xfails, skips)


def _keep(report: Report) -> None:
    """Keep the report for the next run; a cache that cannot be written is no reason to fail."""
    try:
        last.keep(report)
    except OSError as error:
        complain(f"the run cannot be kept for --lf ({error}); expected to write {last.path()}. Set XDG_CACHE_HOME.")
