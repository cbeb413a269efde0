"""Programs that are spread over the devices of several processes, each of which runs its part."""

import contextlib
import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from refdist._core.seam.compiler import Compiled
from refdist._core.seam.peers import Peers


class SpanningProgram:
    """A program in which the replicas of several processes meet: before its first run these agree that it is the same one."""

    def __init__(self, compiled: Any, peers: Peers, wait: Callable[[Sequence[Any]], None] | None) -> None:
        self._compiled, self._peers, self._wait = compiled, peers, wait
        self._run: Compiled = self._run_and_wait if wait is not None else compiled
        self._what = ""  # known when all have agreed

    def __call__(self, *values: Any) -> Sequence[Any]:
        if self._what:
            return self._peers.run(self._run, self._what, values)
        text = self._compiled.lower(*values).as_text()
        self._peers.agree("a new program", text)
        with self._peers.first_run() if self._wait is not None else contextlib.nullcontext():
            what = f"a compiled program ({hashlib.sha256(text.encode()).hexdigest()[:8]})"
            outputs = self._peers.run(self._run, what, values)
        self._what = what
        return outputs

    def _run_and_wait(self, *values: Any) -> Sequence[Any]:
        outputs = self._compiled(*values)
        if self._wait is not None:
            self._wait(outputs)
        return outputs

    def lower(self, *values: Any) -> Any:
        """The program as JAX has it, before it is compiled."""
        return self._compiled.lower(*values)
