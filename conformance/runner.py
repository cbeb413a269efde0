"""Runs checks on an implementation in separate processes, several at once, and continues when one dies or hangs."""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace

from conformance.case import caught, missing_features, prove, run_case
from conformance.checks import Check
from conformance.describing import NotStarted, SuiteError
from conformance.foreground import run_in_foreground
from conformance.implementations import Description
from conformance.jobs import CHECKS, HEAVY, Job, Started, Task, run_tasks
from conformance.results import BROKEN, SILENT, Case, Result, Status
from conformance.selection import quickest

__all__ = [
    "CHECKS",
    "Job",
    "NotStarted",
    "Started",
    "SuiteError",
    "Task",
    "case_count",
    "caught",
    "prove",
    "run",
    "run_case",
    "run_tasks",
    "unfinished",
]


def run(job: Job, started: Started = lambda _, __: None) -> Generator[Result]:
    """Run a job and yield its results: first those of cases that cannot be run, then the others as they arrive.

    If the implementation cannot be started, every case has the result that says so, before the error is raised.
    """
    checks = job.loaded_checks()
    # In quick mode the first count of each behavior stands for all.
    counted = 1 if job.mode == "quick" else None
    waiting = dict.fromkeys(case for id in job.ids for case in _cases(job, id, checks)[:counted])
    try:
        with closing(_results(job, checks, started)) as results:
            for result in results:
                if result.replicas is not None:
                    waiting.pop(Case(result.id, result.replicas), None)
                yield result
    except NotStarted as error:
        for case in waiting:
            yield _skip(job, case) or Result(case.id, job.implementation, case.replicas, error.status, error.detail)
        raise


def case_count(job: Job) -> int:
    """Return how many results a job has at least: one for each case, in quick mode for each behavior."""
    checks = job.loaded_checks()
    found = [len(_cases(job, id, checks)) or (id not in checks and job.only is None) for id in job.ids]
    return sum(map(bool, found)) if job.mode == "quick" else sum(found)


def unfinished(job: Job, found: Iterable[Result]) -> list[Result]:
    """Return a result for each case that a run which was broken off lacks of a behavior that it has begun."""
    checks = job.loaded_checks()
    own = [result for result in found if result.implementation == job.implementation]
    begun = {result.id for result in own if result.status not in SILENT}
    done = {(result.id, result.replicas) for result in own}
    asked = [] if job.mode == "quick" else [case for id in job.ids if id in begun for case in _cases(job, id, checks)]
    return [
        Result(case.id, job.implementation, case.replicas, Status.NOT_RUN, "the run ended before")
        for case in asked
        if (case.id, case.replicas) not in done
    ]


def _results(job: Job, checks: Mapping[str, Check], started: Started) -> Generator[Result]:
    """Yield the results of a job whose implementation can be started."""
    implementation = job.description()
    tasks: list[Task] = []
    for id in job.ids:
        cases = _cases(job, id, checks)
        known = [result for case in cases if (result := _known(job, implementation, checks, case)) is not None]
        yield from known
        if id not in checks and job.only is None:
            yield Result(id, implementation.name, None, Status.UNSUPPORTED, "has no check yet")
        remaining = {case.replicas for case in cases} - {result.replicas for result in known}
        if remaining:
            # In quick mode one count is enough, unless it is unsupported.
            until = frozenset(Status) - {Status.UNSUPPORTED} if job.mode == "quick" else frozenset[Status]()
            kept = tuple(case for case in cases if case.replicas in remaining)
            tasks.append(Task(kept, until, heavy=bool(checks[id].needs & HEAVY)))
    if tasks:
        yield from _in_order(job, implementation, checks, tasks, started)


def _cases(job: Job, id: str, checks: Mapping[str, Check]) -> list[Case]:
    """Return the cases of a behavior that are asked for, in the order in which they are run."""
    counts = checks[id].replicas if id in checks else ()
    ordered = quickest(counts) if job.mode == "quick" else counts
    cases = [Case(id, count) for count in ordered if job.replicas is None or count in job.replicas]
    return [case for case in cases if job.only is None or case in job.only]


def _skip(job: Job, case: Case) -> Result | None:
    """Return the result of a case that is declared not to be run, or None."""
    skipped = job.declarations.skipped(case)
    return None if skipped is None else Result(case.id, job.implementation, case.replicas, Status.SKIP, skipped)


def _known(job: Job, implementation: Description, checks: Mapping[str, Check], case: Case) -> Result | None:
    """Return the result of a case that is not to be run, or None."""
    skipped = _skip(job, case)
    if skipped is not None:
        return skipped
    missing = missing_features(implementation, checks[case.id])
    if missing is not None:
        return Result(case.id, implementation.name, case.replicas, Status.UNSUPPORTED, missing)
    return None


def _in_order(
    job: Job, implementation: Description, checks: Mapping[str, Check], tasks: Sequence[Task], started: Started
) -> Generator[Result]:
    """Run tasks after their prerequisites, and leave out those that need a broken behavior."""
    found: dict[str, list[Result]] = {}
    left_out: list[Result] = []

    def batches() -> Iterator[list[Task]]:
        pending = list(tasks)
        while pending:
            ids = {task.cases[0].id for task in pending}
            ready = [task for task in pending if not ids & set(checks[task.cases[0].id].after)]
            assert ready, "prerequisites do not go in circles"
            pending = [task for task in pending if task not in ready]
            yield [task for task in map(worth_running, ready) if task.cases]

    def worth_running(task: Task) -> Task:
        """Return a task without the cases for which a prerequisite is broken."""
        kept: list[Case] = []
        for case in task.cases:
            reason = None if job.patient else _broken(found, checks[case.id].after, case.replicas)
            if reason is None:
                kept.append(case)
            else:
                left_out.append(Result(case.id, implementation.name, case.replicas, Status.NOT_RUN, reason))
                found.setdefault(case.id, []).append(left_out[-1])
        return replace(task, cases=tuple(kept))

    try:
        run_them = run_tasks if job.debug is None else run_in_foreground
        with closing(run_them(job, implementation, batches(), started)) as answers:
            for case, raw in answers:
                result = job.declarations.judged(case, raw)
                # A case that passes though it was expected to fail does not block others.
                found.setdefault(case.id, []).append(raw if raw.status is Status.PASS else result)
                yield result
    except (KeyboardInterrupt, SuiteError):
        yield from left_out
        raise
    yield from left_out


def _broken(found: Mapping[str, Sequence[Result]], after: Iterable[str], replicas: int) -> str | None:
    """Say which prerequisite is broken, with this replica count or else with all that it was run with, or return None."""
    for id in after:
        reasons = {result.replicas: _reason(result) for result in found.get(id, ())}
        if replicas in reasons:
            reason = reasons[replicas]
        else:
            reason = next(iter(reasons.values()), None) if all(reasons.values()) else None
        if reason is not None:
            return reason
    return None


def _reason(result: Result) -> str | None:
    """Say why what needs this behavior is not run, or None; a case that was itself not run passes on its reason."""
    if result.status is Status.NOT_RUN:
        return result.detail
    return f"needs {result.id}" if result.status in BROKEN else None
