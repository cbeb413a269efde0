"""Runs cases in a separate process, and starts another one when that process dies or hangs."""

import os
import platform
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from conformance.describing import NotStarted, accepted
from conformance.implementations import Description
from conformance.last import cache
from conformance.process import Lost, Process
from conformance.results import Case, Result, Status
from conformance.stopping import Stop

ANSWERED = frozenset({Status.PASS, Status.FAIL, Status.ERROR, Status.DIVERGES, Status.UNSUPPORTED})
"""The statuses that a check can end with; all others are found by the runner."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The time limits, in seconds."""

    case: float
    start: float


class Worker:
    """One process after another, in which cases of one implementation run."""

    def __init__(
        self, implementation: Description, request: Mapping[str, Any], limits: Limits, stop: Stop, number: int = 0
    ) -> None:
        self._implementation = implementation
        self._request = request
        self._limits = limits
        self._stop = stop
        self._number = number
        self._ready = False
        # Started now, so that it opens the implementation before its first case arrives.
        self._process: Process | None = self._started()

    def run(self, case: Case) -> Result:
        """Run a case, and return how it ended, whatever happens to the process; raise Stopped if the run is to stop."""
        process = self._opened()
        process.tell({"id": case.id, "replicas": case.replicas, "fault": case.fault})
        # The implementation could change the clock of its process.
        start = time.monotonic()
        try:
            result = process.answer(lambda message: self._result(message, case), self._limits.case, self._stop)
        except Lost as error:
            self.close()
            result = Result(case.id, self._implementation.name, case.replicas, error.status, error.detail)
        return replace(result, seconds=time.monotonic() - start)

    def close(self) -> None:
        """End the process, if there is one, and everything that it started."""
        process, self._process = self._process, None
        if process is not None:
            process.end()

    def _opened(self) -> Process:
        """Return a process that has opened the implementation, a new one if there is none."""
        if self._process is None:
            self._process = self._started()
        if not self._ready:
            try:
                self._process.answer(accepted, self._limits.start, self._stop)
            except Lost as error:
                raise NotStarted(self._implementation.name, "at opening", error) from error
            self._ready = True
        return self._process

    def _started(self) -> Process:
        self._ready = False
        # The implementation's settings take precedence, then the user's.
        kept = {
            name: value
            for name, value in _kept_programs(self._implementation.name, self._number).items()
            if name not in os.environ
        }
        process = Process({**kept, **self._implementation.environment})
        process.tell(self._request)
        return process

    def _result(self, message: Any, case: Case) -> Result:
        """Make a result of a message, which must be for the case that was asked for."""
        if not isinstance(message, Mapping):
            raise ValueError("expected an object with a result")
        result = Result.from_dict(message.get("result"))
        if (result.id, result.replicas) != (case.id, case.replicas):
            raise ValueError(f"expected the result of {case}")
        if result.implementation != self._implementation.name or result.status not in ANSWERED:
            raise ValueError(f"expected the result of a check on {self._implementation.name}")
        return result


def _kept_programs(name: str, number: int) -> dict[str, str]:
    """Let JAX keep what it compiles, so that the next run takes half the time.

    Each worker has its own folder, because JAX may read an entry that another process is still writing. If the folder cannot be
    written to, nothing is kept, because JAX would warn about it in the middle of checks.
    """
    folder = cache() / "programs" / platform.node() / f"{re.sub('[^A-Za-z0-9_.-]', '_', name)}-{number}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return {}
    if not os.access(folder, os.W_OK):
        return {}
    return {
        "JAX_COMPILATION_CACHE_DIR": str(folder),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
