"""Runs checks on an implementation in processes of its own, several at once, and goes on when one dies or hangs."""

import queue
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from types import FunctionType

from conformance.case import caught, missing_features, prove, run_case
from conformance.checks import Check
from conformance.declarations import Declarations
from conformance.implementations import Implementation, find, locate
from conformance.results import BROKEN, Case, Result, Status
from conformance.selection import quickest
from conformance.worker import SuiteError, Worker

__all__ = ["CHECKS", "Job", "SuiteError", "Task", "caught", "play", "prove", "run", "run_case"]

CHECKS = "conformance.checks:checks"
HEAVY = frozenset({"keras"})
HEAVY_WEIGHT = 30  # how many other tasks take as long as one with such a library
Started = Callable[[str, Case], None]
"""Is told the implementation and the case, each time that a case starts; by several threads if there are several workers."""


@dataclass(frozen=True, slots=True)
class Job:
    """What to run on one implementation."""

    implementation: str
    """A name, or "package.module:object"."""
    ids: tuple[str, ...]
    replicas: tuple[int, ...] | None = None
    """Only these replica counts; without it, all that a check names."""
    timeout: float = 60.0
    """The seconds after which a case is ended."""
    checks: str = CHECKS
    """The place of the function that returns the checks."""
    faults: str | None = None
    """The place of the function that returns the faults, where cases have any."""
    mode: str = "full"
    seed: int = 0
    """Where the values of deep mode come from."""
    workers: int = 1
    """In how many processes at once."""
    only: frozenset[Case] | None = None
    """Only these cases; without it, all."""
    patient: bool = False
    """Whether to run even what needs a broken behavior."""
    declarations: Declarations = field(default_factory=Declarations)

    def opened(self) -> tuple[Implementation, Mapping[str, Check]]:
        """Return the implementation and the checks."""
        return find(self.implementation), locate(self.checks, FunctionType)()


@dataclass(frozen=True, slots=True)
class Task:
    """Cases that are run one after another, until one ends in a certain way."""

    cases: tuple[Case, ...]
    until: frozenset[Status] = frozenset()
    heavy: bool = False
    """Whether it loads a library that takes seconds, so that one process is to run all of these."""


def run(job: Job, started: Started = lambda _, __: None) -> Generator[Result]:
    """Run a job and yield its results: first those of what cannot be run, then the others as they come."""
    implementation, checks = job.opened()
    tasks: list[Task] = []
    for id in job.ids:
        cases = _cases(job, id, checks)
        known = [result for case in cases if (result := _known(job, implementation, checks, case)) is not None]
        yield from known
        if id not in checks and job.only is None:
            yield Result(id, implementation.name, None, Status.UNSUPPORTED, "has no check yet")
        remaining = {case.replicas for case in cases} - {result.replicas for result in known}
        if remaining:
            # In quick mode one count is enough, unless nothing can be said with it.
            until = frozenset(Status) - {Status.UNSUPPORTED} if job.mode == "quick" else frozenset[Status]()
            kept = tuple(case for case in cases if case.replicas in remaining)
            tasks.append(Task(kept, until, heavy=bool(checks[id].needs & HEAVY)))
    if tasks:
        yield from _in_order(job, implementation, checks, tasks, started)


def play(
    job: Job, implementation: Implementation, batches: Iterable[Sequence[Task]], started: Started
) -> Generator[tuple[Case, Result]]:
    """Run one batch of tasks after another, each shared out over the workers, and yield the results as they come."""
    count = job.workers if implementation.parallel else 1
    request = {
        "implementation": job.implementation,
        "checks": job.checks,
        "faults": job.faults,
        "timeout": job.timeout,
        "deep": job.seed if job.mode == "deep" else None,
    }
    with ExitStack() as stack:
        workers: list[Worker] = []
        for batch in batches:
            while len(workers) < min(count, len(batch)):
                workers.append(stack.enter_context(closing(Worker(implementation, request, number=len(workers)))))
            yield from _at_once(workers, shares(batch, len(workers)), lambda case: started(implementation.name, case))


def shares(batch: Sequence[Task], count: int) -> list[list[Task]]:
    """Share tasks out among workers: the heavy ones to the first, the others so that all have as much to do.

    Which worker runs what is the same in every run, so that what one check does to the next is too.
    """
    found: list[list[Task]] = [[] for _ in range(count)]
    loads = [0] * count
    for task in sorted(batch, key=lambda task: not task.heavy):
        place = 0 if task.heavy else loads.index(min(loads))
        found[place].append(task)
        loads[place] += HEAVY_WEIGHT if task.heavy else 1
    return found


def _cases(job: Job, id: str, checks: Mapping[str, Check]) -> list[Case]:
    """Return the cases of a behavior that are asked for, in the order in which they are run."""
    counts = checks[id].replicas if id in checks else ()
    ordered = quickest(counts) if job.mode == "quick" else counts
    cases = [Case(id, count) for count in ordered if job.replicas is None or count in job.replicas]
    return [case for case in cases if job.only is None or case in job.only]


def _known(job: Job, implementation: Implementation, checks: Mapping[str, Check], case: Case) -> Result | None:
    """Return the result of a case that is not to be run, or None."""
    skipped = job.declarations.skipped(case)
    if skipped is not None:
        return Result(case.id, implementation.name, case.replicas, Status.SKIP, skipped)
    missing = missing_features(implementation, checks[case.id])
    if missing is not None:
        return Result(case.id, implementation.name, case.replicas, Status.UNSUPPORTED, missing)
    return None


def _in_order(
    job: Job, implementation: Implementation, checks: Mapping[str, Check], tasks: Sequence[Task], started: Started
) -> Generator[Result]:
    """Run tasks after those that they need, and leave out what needs a broken behavior."""
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

    with closing(play(job, implementation, batches(), started)) as played:
        for case, raw in played:
            result = job.declarations.judged(case, raw)
            # What passes against its declaration is no obstacle for others.
            found.setdefault(case.id, []).append(raw if raw.status is Status.PASS else result)
            yield result
    yield from left_out


def _broken(found: Mapping[str, Sequence[Result]], after: Iterable[str], replicas: int) -> str | None:
    """Say which prerequisite is broken, with this replica count or with all it was run with; None if none is."""
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
    """Say why nothing that needs this result is run, or None; what was itself not run passes on its own reason."""
    if result.status is Status.NOT_RUN:
        return result.detail
    return f"needs {result.id}" if result.status in BROKEN else None


def _at_once(
    workers: Sequence[Worker], shares: Sequence[Sequence[Task]], started: Callable[[Case], None]
) -> Iterator[tuple[Case, Result]]:
    """Let each worker run its share in a thread, and yield the results as they come."""
    found: queue.SimpleQueue[tuple[Case, Result] | BaseException | None] = queue.SimpleQueue()

    def work(worker: Worker, share: Sequence[Task]) -> None:
        try:
            for task in share:
                for case in task.cases:
                    started(case)
                    result = worker.run(case)
                    found.put((case, result))
                    if result.status in task.until:
                        break
            found.put(None)
        except BaseException as error:
            found.put(error)

    for pair in zip(workers, shares, strict=True):
        threading.Thread(target=work, args=pair, daemon=True).start()
    running = len(workers)
    while running:
        item = found.get()
        if isinstance(item, BaseException):
            raise item
        if item is None:
            running -= 1
        else:
            yield item
