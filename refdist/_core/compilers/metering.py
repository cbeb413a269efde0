"""Counts the operations of JAX that a replica calls eagerly, as they happen."""

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
from jax._src.core import EvalTrace, set_current_trace  # pyright: ignore

from refdist._core.compilers.costs import cost_of_call
from refdist._core.compilers.jax_traces import tracing, treat_as_outside

Charge = Callable[[float, float, str, Sequence[Any]], None]
"""Takes the operations, the bytes, the name and the inputs of what was computed."""


class _Asked(threading.local):
    """Who wants to be told of operations, in each thread."""

    charge: Charge | None = None


class _Meter(EvalTrace):
    """Computes as JAX does outside of all traces, and reports what was computed.

    There is only one, because JAX keeps compiled programs for the trace in which they were first called.
    """

    def process_primitive(self, primitive: Any, args: Any, params: Any, /) -> Any:
        results = super().process_primitive(primitive, args, params)
        charge = _ASKED.charge
        if charge is not None:
            outputs = results if primitive.multiple_results else [results]
            flops, moved = cost_of_call(
                primitive, [jax.typeof(x) for x in args], [jax.typeof(x) for x in outputs], params
            )
            charge(flops, moved, _name(primitive, params), [getattr(x, "val", x) for x in args])
        return results


_ASKED = _Asked()
_METER = _Meter()
treat_as_outside(_METER)


@contextmanager
def metered(charge: Charge) -> Generator[None]:
    """Report everything that JAX computes eagerly in a block; in the middle of a trace there is nothing to report."""
    if tracing():
        yield
        return
    before, _ASKED.charge = _ASKED.charge, charge
    try:
        with set_current_trace(_METER):
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
