"""Runs one check in this process, with or without a planted fault."""

import contextlib
import contextvars
import inspect
import os
import time
import traceback
import warnings
from collections.abc import Callable, Iterable
from typing import NamedTuple

from conformance import catalogue
from conformance.checks import Check, CheckFunction, checks
from conformance.expectations import CheckFailed, Unsupported
from conformance.faults import Fault, Plant, faults
from conformance.implementations import Description, Implementation, find
from conformance.results import Result, Status
from conformance.world import World


class Verdict(NamedTuple):
    """How a check ended, and what is known of it."""

    status: Status
    detail: str = ""
    strategy: str = ""
    expected: str = ""
    got: str = ""


Examine = Callable[[BaseException], None]
"""Looks at the error that ends a check, where it can still be debugged."""


def run_case(implementation: Implementation, check: Check, replicas: int, examine: Examine | None = None) -> Result:
    """Open the implementation, and run a check with one replica count; an error that is not declared may be examined."""
    start = time.perf_counter()
    if implementation.divergence(check.id, replicas) is not None:
        examine = None
    verdict = _declared(implementation, check, replicas, _verdict(implementation, check, replicas, examine))
    seconds = time.perf_counter() - start
    return Result(check.id, implementation.name, replicas, seconds=seconds, **verdict._asdict())


def missing_features(implementation: Description, check: Check) -> str | None:
    """Say what the check needs and the implementation lacks, or that it says nothing new about it, or return None."""
    if implementation.variant_of and "multi_worker" not in check.needs | check.uses:
        return _as_on(implementation)
    missing = sorted(check.needs - implementation.features)
    hints = [implementation.installable[name] for name in missing if name in implementation.installable]
    return f"needs {', '.join(missing)}{''.join(f': {hint}' for hint in hints)}" if missing else None


def _as_on(implementation: Description) -> str:
    return f"as on {implementation.variant_of}, from which it differs only with several workers"


def run_with_fault(implementation: Implementation, check: Check, replicas: int, fault: Fault) -> Result:
    """Open the implementation, break it, run a check with one replica count, and repair it again."""
    implementation.open()
    with Plant() as plant:
        try:
            fault.function(plant)
        except Exception as error:
            return Result(check.id, implementation.name, replicas, Status.ERROR, short_traceback(error))
        return run_case(implementation, check, replicas)


def prove(id: str, implementation: Implementation | None = None) -> list[Result]:
    """Plant the fault of a behavior, and run its check with every replica count.

    Without an implementation: on the simulator. The results show whether the fault is `caught`.
    """
    check, fault = checks()[id], faults()[id]
    return [run_with_fault(implementation or find("simulator"), check, count, fault) for count in check.replicas]


def caught(results: Iterable[Result]) -> bool:
    """Tell whether a check noticed its planted fault: it must have failed, and no process may have died or hung."""
    statuses = {result.status for result in results}
    return Status.FAIL in statuses and not statuses & {Status.CRASH, Status.TIMEOUT}


def _verdict(implementation: Implementation, check: Check, replicas: int, examine: Examine | None = None) -> Verdict:
    """Run the function of a check in a new world, and judge how it ended."""
    reason = missing_features(implementation.description, check)
    if reason is not None:
        return Verdict(Status.UNSUPPORTED, reason)
    try:
        tf = implementation.open()
    except Exception as error:
        return Verdict(Status.ERROR, short_traceback(error))
    world = World(implementation, tf, catalogue.behavior(check.id), replicas)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # In a context of its own, so that a scope left open by one check is not seen by the next.
            contextvars.copy_context().run(check.function, world)
            if check.law is not None:
                contextvars.copy_context().run(_law, check.law, world)
    except Unsupported as error:
        return Verdict(Status.UNSUPPORTED, str(error))
    except AssertionError as error:
        if examine is not None:
            examine(error)
        sides = (error.expected, error.got) if isinstance(error, CheckFailed) else ()
        detail = _lines(str(error), _built(world), f"at {_place(error, check)}")
        return Verdict(Status.FAIL, detail, world.built, *sides)
    except (Exception, SystemExit) as error:
        if examine is not None:
            examine(error)
        return Verdict(Status.ERROR, _lines(short_traceback(error), _built(world)), world.built)
    if implementation.variant_of and not world.ran_workers:
        return Verdict(Status.UNSUPPORTED, _as_on(implementation.description))
    return Verdict(Status.PASS)


def _law(law: CheckFunction, world: World) -> None:
    """Run what deep mode adds to a check; if it cannot be run, the check alone decides."""
    with contextlib.suppress(Unsupported):
        law(world)


def _declared(implementation: Implementation, check: Check, replicas: int, verdict: Verdict) -> Verdict:
    """Replace a verdict by what it means for a case that is declared to diverge."""
    reason = implementation.divergence(check.id, replicas)
    if reason is None:
        return verdict
    if verdict.status in (Status.FAIL, Status.ERROR):
        return verdict._replace(status=Status.DIVERGES, detail=reason)
    if verdict.status is Status.PASS:
        return Verdict(Status.FAIL, f"declared to diverge, but passes; the declared reason: {reason}")
    return verdict


def _built(world: World) -> str:
    return f"strategy: {world.built}" if world.built else ""


def _place(error: BaseException, check: Check) -> str:
    """Return the file and line of an error, within the files of the check and its law."""
    functions = [check.function] if check.law is None else [check.function, check.law]
    own = {inspect.unwrap(function).__code__.co_filename for function in functions}
    frames = traceback.extract_tb(error.__traceback__)
    frame = next((frame for frame in reversed(frames) if frame.filename in own), frames[-1])
    return f"{_short_path(frame.filename)}:{frame.lineno}: {frame.line}"


def short_traceback(error: BaseException, frame_count: int = 3) -> str:
    """Format an error: what it says, then its last frames only, without those of this file."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__][-frame_count:]
    lines = [f"{_short_path(frame.filename)}:{frame.lineno}: in {frame.name}: {frame.line}" for frame in frames]
    return _lines("".join(traceback.format_exception_only(error)).rstrip(), *lines)


def _short_path(path: str) -> str:
    """Return a path below the current folder as relative."""
    relative = os.path.relpath(path)
    return path if relative.startswith(os.pardir) else relative


def _lines(*texts: str) -> str:
    return "\n".join(text for text in texts if text)
