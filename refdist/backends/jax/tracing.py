"""Whether JAX is in the middle of a trace."""

from concurrent.futures import ThreadPoolExecutor

import jax
from jax.extend.core import get_opaque_trace_state  # pyright: ignore


def _state() -> object:
    return get_opaque_trace_state(convention="flax")  # pyright: ignore


# Traces are open in one thread, so a new thread knows what it looks like outside of them.
with ThreadPoolExecutor(1) as _executor:
    _OUTSIDE = _executor.submit(_state).result()


def tracing() -> bool:
    """Say whether the code runs inside jit, grad, vmap, scan or the like."""
    return bool(_state() != _OUTSIDE)


def staging() -> bool:
    """Say whether what is computed now becomes part of a program that runs later: inside jit or scan, not grad or vmap."""
    return tracing() and isinstance(jax.lax.add(1, 1), jax.core.Tracer)  # pyright: ignore[reportAttributeAccessIssue]
