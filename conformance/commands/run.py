"""`run`: check implementations, and report which promises each keeps."""

import argparse
import functools
import importlib.util
import pathlib
import shlex
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import FunctionType

from rich.console import Console

from conformance import badge, catalogue, declarations, html, junit, last, terminal
from conformance.certified import certified
from conformance.checks import Check
from conformance.declarations import Declarations
from conformance.describing import NotStarted, describe
from conformance.implementations import Description, UsageError, locate, origins, place_of
from conformance.jobs import Debug
from conformance.output import collected, complain, nothing_selected, save, write
from conformance.recorded import recorded
from conformance.report import RECORD, Report, versions
from conformance.results import BROKEN, Result
from conformance.runner import CHECKS, Job, case_count, run, unfinished
from conformance.selection import Selection
from conformance.stopping import uninterrupted


def command(options: argparse.Namespace) -> int:
    """Check implementations one after another, and print the report even if the run is interrupted."""
    require_template(options)
    earlier = _earlier(options)
    selection = chosen(options, earlier)
    columns = _records(selection, earlier)
    jobs = [job for job in _jobs(options, selection, earlier) if job.ids]
    _require_foreground(options, jobs)
    start = time.monotonic()
    results, code = run_jobs(jobs, first_failure=options.exitfirst)
    stopped = options.exitfirst and any(result.status in BROKEN for result in results)
    # What was done is told, however often the run is cancelled.
    with uninterrupted():
        if code or stopped:
            results += [result for job in jobs for result in unfinished(job, results)]
        kept = [result for column in columns.values() for result in column.results]
        ordered = tuple(in_catalogue_order([*results, *kept], selection.implementations))
        report = Report(
            ordered,
            time.monotonic() - start,
            selection,
            versions(),
            complete=code == 0 and not stopped,
            certified={job.implementation: _certified(job) for job in jobs}
            | {name: facts for column in columns.values() for name, facts in column.certified.items()},
        )
        if not ordered and not code:
            return nothing_selected(_why_nothing(options, earlier))
        write(terminal.render(report, Console(), verbose=options.verbose))
        write(f"mode {selection.mode}, seed {selection.seed}\n")
        save_all(options, report)
        if results:
            _keep(report)
    return code or report.exit_code()


def _why_nothing(options: argparse.Namespace, earlier: Report | None) -> str | None:
    """Say why nothing was run, where that is known."""
    if earlier:
        return "nothing failed in that run, or nothing of it is selected"
    counts = sorted({count for check in locate(options.checks, FunctionType)().values() for count in check.replicas})
    if not options.replicas or set(options.replicas) & set(counts):
        return None
    asked, known = (", ".join(map(str, some)) for some in (options.replicas, counts))
    return f"nothing is selected by --replicas {asked}; expected some of {known}, with which behaviors are checked"


def save_all(options: argparse.Namespace, report: Report) -> None:
    """Write a report to the files that the options name."""
    for file, render in (
        (options.json, Report.to_json),
        (options.html, html.render),
        (options.junit_xml, junit.render),
        (options.badge, badge.render),
    ):
        if file is not None:
            save(file, render(report))


def run_jobs(jobs: Sequence[Job], *, first_failure: bool = False) -> tuple[list[Result], int]:
    """Run jobs with a bar of progress; return what was found, and an exit code if the run is not complete."""
    return collected(
        [functools.partial(run, job) for job in jobs],
        sum(map(case_count, jobs)),
        lambda result: first_failure and result.status in BROKEN,
    )


def require_template(options: argparse.Namespace) -> None:
    """Refuse before a run what could not be written after it."""
    if options.html is not None and importlib.util.find_spec("jinja2") is None:
        raise UsageError(
            "got --html, and jinja2 is not installed; expected it, to write the page. "
            "Install it with `pip install jinja2`, or write --json, of which `python -m conformance report` makes a page later."
        )


def _require_foreground(options: argparse.Namespace, jobs: Sequence[Job]) -> None:
    """Refuse to run in this process what needs several."""
    if _debug(options) is None:
        return
    if len(jobs) > 1 or options.n > 1:
        raise UsageError(
            f"got --in-process, --pdb or -s with -n {options.n} and implementations: {len(jobs)}; expected one implementation and "
            f"one process, which is this one. Leave out the others."
        )


def _debug(options: argparse.Namespace) -> Debug | None:
    wanted = options.in_process or options.pdb or options.show_output
    return Debug(pdb=options.pdb) if wanted else None


def _records(selection: Selection, earlier: Report | None) -> dict[str, Report]:
    """Return what was recorded of implementations whose names say so, as far as it is selected; it cannot be run again."""
    ids = {behavior.id for behavior in selection.of(catalogue.load())}
    found: dict[str, Report] = {}
    for name in dict.fromkeys(selection.implementations):
        if name.startswith(RECORD) and earlier is None:
            record = recorded(name.removeprefix(RECORD))
            results = [
                replace(result, implementation=name)
                for result in record.results
                if result.id in ids and (not selection.replicas or result.replicas in (*selection.replicas, None))
            ]
            facts = record.certified.get(name.removeprefix(RECORD), {})
            found[name] = replace(record, results=tuple(results), certified={name: facts})
    return found


def _certified(job: Job) -> dict[str, str]:
    """Return what is known of what a job certifies."""
    known = isinstance(job.described, Description)
    package = job.described.package if isinstance(job.described, Description) else ""
    place = place_of(job.implementation).partition(":")[0].partition(".")[0]
    return certified(package if known else place)


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
        "" if options.checks == CHECKS else options.checks,
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
    for name in _runnable(selection):
        only = last.failed(earlier, name) if earlier else None
        ids = tuple(behavior.id for behavior in selection.of(catalogue.load()))
        if only is not None:
            ids = tuple(id for id in ids if any(case.id == id for case in only))
        try:
            described = describe(name, options.start_timeout or options.timeout)
        except NotStarted as error:
            described = error
        job = Job(
            name,
            ids,
            selection.replicas or None,
            options.timeout,
            options.start_timeout or options.timeout,
            options.checks,
            mode=selection.mode,
            seed=selection.seed,
            workers=options.n,
            only=only,
            declarations=declared[name],
            debug=_debug(options),
            described=described,
        )
        jobs.append(job)
    return jobs


def _runnable(selection: Selection) -> list[str]:
    """Return the implementations that are to be run, each once."""
    return [name for name in dict.fromkeys(selection.implementations) if not name.startswith(RECORD)]


def _declarations(options: argparse.Namespace, selection: Selection) -> dict[str, Declarations]:
    """Read, for each implementation, the files that say what is expected to fail and what is not to be run."""
    names = _runnable(selection)
    if not options.xfail and not options.skip:
        return dict.fromkeys(names, Declarations())
    checks: Mapping[str, Check] = locate(options.checks, FunctionType)()
    counts = {id: check.replicas for id, check in checks.items()}
    files = [files_by_name(given, names) for given in (options.xfail, options.skip)]
    return {name: Declarations(*(declarations.read_all(found[name], counts) for found in files)) for name in names}


def files_by_name(given: Iterable[str], names: Sequence[str]) -> dict[str, list[pathlib.Path]]:
    """Divide files among implementations: NAME=FILE is for one, and FILE alone for the only one.

    >>> files_by_name(["jax=a.txt", "simulator=b.txt", "jax=c.txt"], ["simulator", "jax"])
    {'simulator': [PosixPath('b.txt')], 'jax': [PosixPath('a.txt'), PosixPath('c.txt')]}
    """
    found: dict[str, list[pathlib.Path]] = {name: [] for name in names}
    for text in given:
        owner, _, file = text.partition("=")
        if owner in found and file:
            found[owner].append(pathlib.Path(file))
        elif len(names) == 1:
            found[names[0]].append(pathlib.Path(text))
        else:
            raise UsageError(
                f"got the file {text!r} with {len(names)} implementations; expected one of {', '.join(names)} before it, "
                f"whose file it is. Write for example {names[0] if names else 'NAME'}={file or text}."
            )
    return found


def _keep(report: Report) -> None:
    """Keep the report for the next run; a cache that cannot be written is no reason to fail."""
    try:
        last.keep(report)
    except OSError as error:
        complain(f"the run cannot be kept for --lf ({error}); expected to write {last.path()}. Set XDG_CACHE_HOME.")
