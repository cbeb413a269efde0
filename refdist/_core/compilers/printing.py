"""Printing when a program runs."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax._src.debugging import DebugEffect, OrderedDebugEffect  # pyright: ignore

from refdist._core.compilers.jax_traces import writing_a_program


def print_later(show: Callable[..., None], tensors: Sequence[Any], conditions: Sequence[Any], *, ordered: bool) -> None:
    """Make the program that is being written call a function with the values of tensors, each time that it runs.

    Args:
        show: takes whether all conditions hold, and the values. Equal ones make equal programs.
        conditions: on which the code depends; replicas that part still take all steps, and must not show all.
        ordered: whether to keep the order of several prints, which a program over several replicas cannot.
    """
    active = jnp.asarray(True)
    for condition in conditions:
        active = jnp.logical_and(active, condition)
    jax.debug.callback(show, active, *tensors, ordered=ordered and writing_a_program())


def prints(effects: Iterable[Any]) -> bool:
    """Say whether what JAX knows of a program's effects is that it prints; to meet other replicas is one as well."""
    return any(isinstance(effect, (DebugEffect, OrderedDebugEffect)) for effect in effects)


def finished(program: Callable[..., Any]) -> Callable[..., Any]:
    """A program that has printed everything when it returns."""

    def run(*values: Any) -> Any:
        outputs = program(*values)
        jax.effects_barrier()
        return outputs

    run.lower = getattr(program, "lower", None)  # pyright: ignore[reportFunctionMemberAccess]
    return run
