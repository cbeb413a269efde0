"""Jobs and their tasks, run on an implementation in several processes at once, until all are done or interrupted."""

import functools
import queue
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from types import FunctionType

from conformance.checks import Check
from conformance.declarations import Declarations
from conformance.describing import START_SECONDS, NotStarted, describe
from conformance.implementations import Description, locate
from conformance.results import Case, Result, Status
from conformance.stopping import Stop, Stopped, stopped_by_interrupts
from conformance.worker import Limits, Worker

CHECKS = "conformance.checks:checks"
HEAVY = frozenset({"keras"})
HEAVY_WEIGHT = 30  # how many other tasks take as long as one with such a library
Started = Callable[[str, Case], None]
"""Called with the implementation and the case whenever a case starts; by several threads if there are several workers."""


@dataclass(frozen=True, slots=True)
class Debug:
    """How cases run in the foreground."""

    pdb: bool = False
    """Whether a debugger opens where a check fails."""


@dataclass(frozen=True, slots=True)
class Job:
    """What to run on one implementation."""

    implementation: str
    """A name, or "package.module:object"."""
    ids: tuple[str, ...]
    replicas: tuple[int, ...] | None = None
    """Only these replica counts; if None, all that a check names."""
    timeout: float = 60.0
    """The seconds after which a case is ended."""
    start_timeout: float = START_SECONDS
    """The seconds after which a process that imports or opens the implementation is ended."""
    checks: str = CHECKS
    """The place of the function that returns the checks."""
    faults: str | None = None
    """The place of the function that returns the faults, if cases have any."""
    mode: str = "full"
    seed: int = 0
    """Where the values of deep mode come from."""
    workers: int = 1
    """How many processes run at once."""
    only: frozenset[Case] | None = None
    """Only these cases; if None, all."""
    patient: bool = False
    """Whether to run even cases that need a broken behavior."""
    declarations: Declarations = field(default_factory=Declarations)
    debug: Debug | None = None
    """How to run the cases in this process; if None, they run in others."""
    described: Description | NotStarted | None = None
    """What is known of the implementation, or why it could not be started; if None, it is asked."""

    def loaded_checks(self) -> Mapping[str, Check]:
        """Return the checks by id."""
        return locate(self.checks, FunctionType)()

    def description(self) -> Description:
        """Return what is known of the implementation."""
        if isinstance(self.described, NotStarted):
            raise self.described
        return self.described or describe(self.implementation, self.start_timeout)


@dataclass(frozen=True, slots=True)
class Task:
    """Cases that are run one after another, until one ends in a certain way."""

    cases: tuple[Case, ...]
    until: frozenset[Status] = frozenset()
    heavy: bool = False
    """Whether it loads a library that takes seconds to import, so that one process should run all such tasks."""


def run_tasks(
    job: Job, implementation: Description, batches: Iterable[Sequence[Task]], started: Started
) -> Generator[tuple[Case, Result]]:
    """Run one batch of tasks after another, each divided among the workers, and yield the results as they arrive.

    An interrupt ends the run after everything that was answered before it has been yielded.
    """
    count = job.workers if implementation.parallel else 1
    request = {
        "implementation": job.implementation,
        "checks": job.checks,
        "faults": job.faults,
        "deep": job.seed if job.mode == "deep" else None,
    }
    limits = Limits(job.timeout, job.start_timeout)
    with ExitStack() as stack:
        stop = stack.enter_context(stopped_by_interrupts())
        workers: list[Worker] = []
        for batch in batches:
            while len(workers) < min(count, len(batch)):
                worker = Worker(implementation, request, limits, stop, number=len(workers))
                workers.append(stack.enter_context(closing(worker)))
            told = functools.partial(started, implementation.name)
            yield from _at_once(workers, shares(batch, len(workers)), told, stop)
            if stop.requested:
                raise KeyboardInterrupt


def shares(batch: Sequence[Task], count: int) -> list[list[Task]]:
    """Divide tasks among workers: the heavy ones to the first, the others so that all have about as much to do.

    The division is the same in every run, and so are the effects that one check has on the next.
    """
    found: list[list[Task]] = [[] for _ in range(count)]
    loads = [0] * count
    for task in sorted(batch, key=lambda task: not task.heavy):
        place = 0 if task.heavy else loads.index(min(loads))
        found[place].append(task)
        loads[place] += HEAVY_WEIGHT if task.heavy else 1
    return found


def _at_once(
    workers: Sequence[Worker], shares: Sequence[Sequence[Task]], started: Callable[[Case], None], stop: Stop
) -> Iterator[tuple[Case, Result]]:
    """Let each worker run its share in a thread, and yield the results as they arrive; an error is raised after them."""
    found: queue.SimpleQueue[tuple[Case, Result] | None] = queue.SimpleQueue()
    errors: list[BaseException] = []

    def work(worker: Worker, share: Sequence[Task]) -> None:
        try:
            for task in share:
                for case in task.cases:
                    if stop.requested:
                        return
                    started(case)
                    result = worker.run(case)
                    found.put((case, result))
                    if result.status in task.until:
                        break
        except Stopped:
            pass
        except BaseException as error:
            errors.append(error)
        finally:
            found.put(None)

    threads = [threading.Thread(target=work, args=pair, daemon=True) for pair in zip(workers, shares, strict=True)]
    try:
        for thread in threads:
            thread.start()
        running = len(threads)
        while running:
            item = found.get()
            if item is None:
                running -= 1
            else:
                yield item
    except BaseException:
        stop.set()
        raise
    finally:
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]
