"""Programs that are spread over the devices of several processes, each of which runs its part."""

import contextlib
import dataclasses
import hashlib
from collections.abc import Sequence
from typing import Any

import jax

from refdist._core.seam.compiler import WrittenProgram
from refdist._core.seam.peers import Peers

_MOST_SHOWN = 8


class SpanningProgram:
    """A program over several processes: before its first run these agree that it is the same one.

    Args:
        constants: the first inputs, which are the same in each run.
        peers: the other processes, if replicas meet in it.
        waits: whether waiting for its outputs is part of a run.
    """

    def __init__(self, compiled: Any, constants: Sequence[Any], peers: Peers | None, *, waits: bool) -> None:
        self._compiled, self._constants, self._peers, self._waits = compiled, constants, peers, waits
        self._what = ""  # known when all have agreed

    def __call__(self, *values: Any) -> Sequence[Any]:
        peers = self._peers
        if peers is None:
            return self._run(*values)
        if self._what:
            return peers.run(self._run, self._what, values)
        text = self.lower(*values).as_text()
        what = f"a compiled program ({hashlib.sha256(text.encode()).hexdigest()[:8]})"
        peers.agree("a new program", f"{what} of {_outlined(values)}")
        with peers.first_run() if self._waits else contextlib.nullcontext():
            outputs = peers.run(self._run, what, values)
        self._what = what
        return outputs

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


def with_constants_as_inputs(program: WrittenProgram) -> tuple[WrittenProgram, Sequence[Any]]:
    """A program without the tensors that it refers to, and these: each process has its own, and all have one program."""
    closed, count = program.jaxpr, len(program.jaxpr.consts)
    jaxpr = closed.jaxpr.replace(
        constvars=[],
        invars=[*closed.jaxpr.constvars, *closed.jaxpr.invars],
        debug_info=closed.jaxpr.debug_info.with_unknown_names(),
    )
    return dataclasses.replace(
        program,
        jaxpr=closed.replace(jaxpr=jaxpr, consts=[]),
        own_inputs=(*[False] * count, *program.own_inputs),
        used=(*range(count), *(index + count for index in program.used)),
    ), closed.consts
