"""Operations of JAX that a replica calls at once, counted as they happen."""

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
    """Who wants to be told, in each thread."""

    charge: Charge | None = None


class _Meter(EvalTrace):
    """Computes as JAX does outside of every trace, and says what that was.

    There is one of it, because programs that JAX has compiled are kept for the trace in which they were first called.
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
    """Be told, in a block, of everything that JAX computes at once; in the middle of a trace nothing is."""
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
    """Tell nobody, in a block, what JAX computes."""
    before, _ASKED.charge = _ASKED.charge, None
    try:
        yield
    finally:
        _ASKED.charge = before


def _name(primitive: Any, params: Any) -> str:
    return str(params.get("name", primitive.name))
