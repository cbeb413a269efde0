"""Programs that are spread over the devices of several processes, each of which runs its part."""

import contextlib
import hashlib
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax

from refdist._core.seam.peers import Peers

_MOST_SHOWN = 8

Spread: TypeAlias = tuple[Any, Sequence[Any]]
"""A compiled program, and its first inputs."""


class SpanningProgram:
    """A program over several processes: before its first run these agree that it is the same one.

    Args:
        spread: what is run, and its first inputs, which are the same in each run.
        loosened: makes the same with the numbers of Python as inputs, too; None if these must not differ.
        peers: the other processes, if replicas meet in it.
        waits: whether waiting for its outputs is part of a run.
    """

    def __init__(
        self, spread: "Spread", loosened: "Callable[[], Spread | None]", peers: Peers | None, *, waits: bool
    ) -> None:
        (self._compiled, self._constants), self._loosened = spread, loosened
        self._peers, self._waits = peers, waits
        self._what = ""  # known when all have agreed

    def __call__(self, *values: Any) -> Sequence[Any]:
        peers = self._peers
        if peers is None:
            return self._run(*values)
        if self._what:
            return peers.run(self._run, self._what, values)
        what = self._named(values)
        if not peers.agree("a new program", f"{what} of {_outlined(values)}", lambda: self._named_loosely(values)):
            what = self._named(values)  # of what is run now
        with peers.first_run() if self._waits else contextlib.nullcontext():
            outputs = peers.run(self._run, what, values)
        self._what = what
        return outputs

    def _named(self, values: Sequence[Any]) -> str:
        text = self.lower(*values).as_text()
        return f"a compiled program ({hashlib.sha256(text.encode()).hexdigest()[:8]})"

    def _named_loosely(self, values: Sequence[Any]) -> str:
        """Let each process have numbers of its own in the program from now on, if that may be."""
        loosened = self._loosened()
        if loosened is None:
            return ""
        self._compiled, self._constants = loosened
        return self._named(values)

    def _run(self, *values: Any) -> Sequence[Any]:
        outputs = self._compiled(*self._constants, *values)
        if self._waits and outputs:
            outputs[0].block_until_ready()
        return outputs

    def lower(self, *values: Any) -> Any:
        """The program as JAX has it, before it is compiled."""
        return self._compiled.lower(*self._constants, *values)


def _outlined(values: Sequence[Any]) -> str:
    """What each device gets: workers whose programs differ see here whether tensors of different shapes are the reason."""
    parts = [value.addressable_data(0) if isinstance(value, jax.Array) else value for value in values[:_MOST_SHOWN]]
    shown = [f"{part.dtype}{list(part.shape)}" for part in parts]
    return ", ".join([*shown, *["..."] * (len(values) > _MOST_SHOWN)]) or "no tensors"
