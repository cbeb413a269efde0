"""Cases in this process, in the foreground: `breakpoint()` and `print()` work there, and a debugger can open where one fails.

Nothing protects this process from the implementation: there is no time limit, and a case that dies takes the run along.
"""

import bdb
import importlib
import os
import pdb
import sys
from collections.abc import Generator, Iterable, Mapping, Sequence
from types import FunctionType, TracebackType

from conformance import expectations
from conformance.case import run_case, short_traceback
from conformance.checks import Check
from conformance.deepening import deepened
from conformance.describing import NotStarted
from conformance.implementations import Description, Implementation, UsageError, find, locate
from conformance.jobs import Job, Started, Task
from conformance.process import Lost
from conformance.results import Case, Result, Status


def run_in_foreground(
    job: Job, _: Description, batches: Iterable[Sequence[Task]], started: Started
) -> Generator[tuple[Case, Result]]:
    """Run one batch of tasks after another, and yield the results as they arrive."""
    assert job.debug is not None, "the job says how"
    implementation = find(job.implementation)
    checks: Mapping[str, Check] = deepened(locate(job.checks, FunctionType)(), job.seed if job.mode == "deep" else None)
    open_here(implementation)
    for batch in batches:
        cases = [case for task in batch for case in task.cases]
        require_one_process(implementation, len(cases))
        for task in batch:
            for case in task.cases:
                started(job.implementation, case)
                debugged = job.debug.pdb and not job.declarations.expects(case)
                result = run_case(implementation, checks[case.id], case.replicas, _debug if debugged else None)
                yield case, result
                if result.status in task.until:
                    break


def require_one_process(implementation: Implementation, count: int) -> None:
    """Refuse several cases of an implementation that needs a process for each."""
    if implementation.isolate and count > 1:
        raise UsageError(
            f"got {count} cases of {implementation.name} for one process; expected one case, because it needs a new process for "
            f"each. Choose one with -k ID --replicas N, or run them without --in-process."
        )


def open_here(implementation: Implementation) -> None:
    """Open an implementation in this process, with the settings that it asks for; they come too late for what is loaded."""
    late = [
        name
        for name, text in implementation.environment.items()
        if os.environ.get(name, text) != text or name not in os.environ
    ]
    backend = implementation.name.partition("-")[0]
    if late and backend in sys.modules:
        settings = " ".join(f"{name}={implementation.environment[name]}" for name in late)
        raise UsageError(
            f"got {implementation.name} for this process, which has already imported {backend}; expected one that has not, "
            f"because {', '.join(late)} must be set before. Set {settings} in the shell, or leave out --in-process."
        )
    os.environ.update(implementation.environment)
    try:
        implementation.open()
    except (Exception, SystemExit) as error:
        raise NotStarted(implementation.name, "at opening", Lost(Status.ERROR, short_traceback(error))) from error


def at_check(error: BaseException) -> TracebackType | None:
    """Return the traceback of an error up to the check or the implementation: what compares values is of no interest."""
    frames: list[TracebackType] = []
    place = error.__traceback__
    while place is not None:
        frames.append(place)
        place = place.tb_next
    own = {expectations.__file__, importlib.import_module("contextlib").__file__}
    while isinstance(error, expectations.CheckFailed) and len(frames) > 1 and _file(frames[-1]) in own:
        frames.pop()
    cut: TracebackType | None = None
    for frame in reversed(frames):
        cut = TracebackType(cut, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return cut


def _file(place: TracebackType) -> str:
    return place.tb_frame.f_code.co_filename


def _debug(error: BaseException) -> None:
    """Open a debugger where a check failed."""
    if isinstance(error, bdb.BdbQuit):
        raise KeyboardInterrupt from error
    print(short_traceback(error), file=sys.stderr)
    pdb.post_mortem(at_check(error))
