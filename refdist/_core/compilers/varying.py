"""Which results of a program may differ between replicas, and which sums need no exchange because their terms are equal."""

from collections.abc import Container, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.core import eval_jaxpr as evaluated
from jax.extend.core import Literal

from refdist._core.compilers.jaxpr_steps import MEETINGS, asks_who, bound, read


def varying_outputs(jaxpr: Any, inputs: Sequence[bool]) -> tuple[list[bool], set[int]]:
    """Say which results of a program may differ between replicas, given which inputs do.

    Say also which of its steps add up what is equal on all replicas: these need no exchange.
    """
    varying = {var for var, differs in zip(jaxpr.invars, inputs, strict=True) if differs}
    needless: set[int] = set()
    for step, eqn in enumerate(jaxpr.eqns):
        if eqn.primitive.name in MEETINGS:
            if eqn.primitive.name == "psum" and not any(a in varying for a in eqn.invars if not isinstance(a, Literal)):
                needless.add(step)
            continue
        if asks_who(eqn) or any(not isinstance(atom, Literal) and atom in varying for atom in eqn.invars):
            varying.update(eqn.outvars)
    return [not isinstance(atom, Literal) and atom in varying for atom in jaxpr.outvars], needless


def run_program(closed: Any, inputs: Sequence[Any], needless: Container[int], count: int) -> list[Any]:
    """Run a program; a sum of what is equal on all replicas becomes a product with their number."""
    if not needless:
        return list(evaluated(closed.jaxpr, closed.consts, *inputs))
    jaxpr = closed.jaxpr
    env: dict[Any, Any] = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*closed.consts, *inputs], strict=True))
    for step, eqn in enumerate(jaxpr.eqns):
        values = [read(env, atom) for atom in eqn.invars]
        outs = [jnp.asarray(x) * np.asarray(count, x.dtype) for x in values] if step in needless else bound(eqn, values)
        env.update(zip(eqn.outvars, outs, strict=True))
    return [read(env, atom) for atom in jaxpr.outvars]
