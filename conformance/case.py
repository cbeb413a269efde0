"""Runs one check in this process, with or without a planted fault."""

import contextvars
import os
import time
import traceback
import warnings
from collections.abc import Callable, Iterable

from conformance import catalogue
from conformance.checks import Check, checks
from conformance.expectations import Unsupported
from conformance.faults import Plant, faults
from conformance.implementations import Implementation, find
from conformance.results import Result, Status
from conformance.world import World

Verdict = tuple[Status, str]
"""A status and its detail."""


def run_case(implementation: Implementation, check: Check, replicas: int) -> Result:
    """Open the implementation, and run a check with one replica count."""
    start = time.perf_counter()
    status, detail = _declared(implementation, check, replicas, _verdict(implementation, check, replicas))
    return Result(check.id, implementation.name, replicas, status, detail, time.perf_counter() - start)


def missing_features(implementation: Implementation, check: Check) -> str | None:
    """Say what the check needs and the implementation has not, or None."""
    missing = sorted(check.needs - implementation.features)
    hints = [implementation.installable[name] for name in missing if name in implementation.installable]
    return f"needs {', '.join(missing)}{''.join(f': {hint}' for hint in hints)}" if missing else None


def prove(id: str, implementation: Implementation | None = None) -> list[Result]:
    """Plant the fault of a behavior, and run its check with every replica count.

    Without an implementation: on the simulator. The results show whether the fault is `caught`.
    """
    check = checks()[id]
    chosen = implementation or find("simulator")
    chosen.open()
    with Plant() as plant:
        faults()[id].function(plant)
        return [run_case(chosen, check, count) for count in check.replicas]


def caught(results: Iterable[Result]) -> bool:
    """Tell whether a check noticed its planted fault: an error is not enough."""
    return any(result.status is Status.FAIL for result in results)


def _verdict(implementation: Implementation, check: Check, replicas: int) -> Verdict:
    """Run the function of a check in a new world, and judge how it ended."""
    reason = missing_features(implementation, check)
    if reason is not None:
        return Status.UNSUPPORTED, reason
    try:
        tf = implementation.open()
    except Exception as error:
        return Status.ERROR, _short_traceback(error)
    world = World(implementation, tf, catalogue.load()[check.id], replicas)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # In a context of its own, so that a scope left open by one check is not seen by the next.
            contextvars.copy_context().run(check.function, world)
    except Unsupported as error:
        return Status.UNSUPPORTED, str(error)
    except AssertionError as error:
        return Status.FAIL, _lines(str(error), _built(world), f"at {_place(error, check.function)}")
    except (Exception, SystemExit) as error:
        return Status.ERROR, _lines(_short_traceback(error), _built(world))
    return Status.PASS, ""


def _declared(implementation: Implementation, check: Check, replicas: int, verdict: Verdict) -> Verdict:
    """Replace a verdict by what it means for a case that is declared to diverge."""
    reason = implementation.divergence(check.id, replicas)
    if reason is None:
        return verdict
    if verdict[0] in (Status.FAIL, Status.ERROR):
        return Status.DIVERGES, reason
    if verdict[0] is Status.PASS:
        return Status.FAIL, f"declared to diverge, but passes; the declared reason: {reason}"
    return verdict


def _built(world: World) -> str:
    return f"strategy: {world.built}" if world.built else ""


def _place(error: BaseException, function: Callable[..., object]) -> str:
    """Return file and line, within the file of the check, from which an error came."""
    own = function.__code__.co_filename
    frames = traceback.extract_tb(error.__traceback__)
    frame = next((frame for frame in reversed(frames) if frame.filename == own), frames[-1])
    return f"{_short_path(frame.filename)}:{frame.lineno}: {frame.line}"


def _short_traceback(error: BaseException, frame_count: int = 3) -> str:
    """Format an error with its last frames only, without those of this file."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__][-frame_count:]
    lines = [f"{_short_path(frame.filename)}:{frame.lineno}: in {frame.name}: {frame.line}" for frame in frames]
    return _lines(*lines, "".join(traceback.format_exception_only(error)).rstrip())


def _short_path(path: str) -> str:
    """Return a path below the current folder as relative."""
    relative = os.path.relpath(path)
    return path if relative.startswith(os.pardir) else relative


def _lines(*texts: str) -> str:
    return "\n".join(text for text in texts if text)
