"""Counts the operations of JAX that a replica calls eagerly, as they happen."""

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
from jax._src.core import set_current_trace  # pyright: ignore

from refdist._core.compilers.costs import cost_of_call
from refdist._core.compilers.jax_traces import tracing
from refdist._core.compilers.observing import OBSERVED, charge_with

Charge = Callable[[float, float, str, Sequence[Any]], None]
"""Takes the operations, the bytes, the name and the inputs of what was computed."""


class _Asked(threading.local):
    """Who wants to be told of operations, in each thread."""

    charge: Charge | None = None


_ASKED = _Asked()


@charge_with
def _charged(primitive: Any, args: Any, params: Any, outputs: Sequence[Any]) -> None:
    charge = _ASKED.charge
    if charge is not None:
        flops, moved = cost_of_call(primitive, [jax.typeof(x) for x in args], [jax.typeof(x) for x in outputs], params)
        charge(flops, moved, _name(primitive, params), [getattr(x, "val", x) for x in args])


@contextmanager
def metered(charge: Charge) -> Generator[None]:
    """Report everything that JAX computes eagerly in a block; in the middle of a trace there is nothing to report."""
    if tracing():
        yield
        return
    before, _ASKED.charge = _ASKED.charge, charge
    try:
        with set_current_trace(OBSERVED):
            yield
    finally:
        _ASKED.charge = before


@contextmanager
def unmetered() -> Generator[None]:
    """Report nothing that JAX computes in a block."""
    before, _ASKED.charge = _ASKED.charge, None
    try:
        yield
    finally:
        _ASKED.charge = before


def _name(primitive: Any, params: Any) -> str:
    return str(params.get("name", primitive.name))
