"""Which results of a program may differ between replicas, and which sums need no exchange because their terms are equal."""

from collections.abc import Container, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.core import eval_jaxpr as evaluated
from jax.extend.core import Literal

from refdist._core.base.call_sites import line_text, of_user
from refdist._core.base.errors import MeetingError
from refdist._core.compilers.jaxpr_steps import CALLS, MEETINGS, asks_who, bound, meets, parts_of_scan, plain, read


def varying_outputs(jaxpr: Any, inputs: Sequence[bool], *, own_constants: bool = False) -> tuple[list[bool], set[int]]:
    """Say which results of a program may differ between replicas, given which inputs do, and whether its constants do.

    Say also which of its steps add up what is equal on all replicas: these need no exchange.
    """
    flow = _Flow(jaxpr, inputs, own_constants=own_constants)
    return flow.outputs, flow.needless


class _Flow:
    """What may differ between replicas, followed through a program, and through those inside its steps."""

    def __init__(self, jaxpr: Any, inputs: Sequence[bool], *, own_constants: bool = False) -> None:
        self._varying = {var for var, differs in zip(jaxpr.invars, inputs, strict=True) if differs}
        if own_constants:
            self._varying.update(jaxpr.constvars)
        self.needless: set[int] = set()
        for step, eqn in enumerate(jaxpr.eqns):
            given = [self._differs(atom) for atom in eqn.invars]
            name = eqn.primitive.name
            if name in MEETINGS and name != "ppermute":
                if name == "psum" and not any(given):
                    self.needless.add(step)
                continue
            if name == "axis_index":
                made = [True]
            elif name in _INNER:
                made = _INNER[name](eqn, given)
            else:
                made = [asks_who(eqn) or any(given)] * len(eqn.outvars)
            self._varying.update(var for var, differs in zip(eqn.outvars, made, strict=True) if differs)
        self.outputs = [self._differs(atom) for atom in jaxpr.outvars]

    def _differs(self, atom: Any) -> bool:
        return not isinstance(atom, Literal) and atom in self._varying


def _call(eqn: Any, given: list[bool]) -> list[bool]:
    return _Flow(plain(eqn.params["jaxpr"]), given).outputs


def _cond(eqn: Any, given: list[bool]) -> list[bool]:
    if given[0]:
        _require_alone(eqn, "branch")
        return [True] * len(eqn.outvars)
    ends = [_Flow(plain(branch), given[1:]).outputs for branch in eqn.params["branches"]]
    return [any(column) for column in zip(*ends, strict=True)]


def _scan(eqn: Any, given: list[bool]) -> list[bool]:
    consts, carried = parts_of_scan(eqn)
    now, last = given[consts : consts + carried], consts + carried
    while True:
        ends = _Flow(plain(eqn.params["jaxpr"]), [*given[:consts], *now, *given[last:]]).outputs
        after = [a or b for a, b in zip(now, ends[:carried], strict=True)]
        if after == now:
            return [*now, *ends[carried:]]
        now = after


def _while(eqn: Any, given: list[bool]) -> list[bool]:
    tested, first = eqn.params["cond_nconsts"], eqn.params["cond_nconsts"] + eqn.params["body_nconsts"]
    now = given[first:]
    while True:
        (differs,) = _Flow(plain(eqn.params["cond_jaxpr"]), [*given[:tested], *now]).outputs
        if differs:
            _require_alone(eqn, "loop")
            return [True] * len(now)
        ends = _Flow(plain(eqn.params["body_jaxpr"]), [*given[tested:first], *now]).outputs
        after = [a or b for a, b in zip(now, ends, strict=True)]
        if after == now:
            return now
        now = after


_INNER = {"cond": _cond, "scan": _scan, "while": _while, **dict.fromkeys(CALLS, _call)}


def _require_alone(eqn: Any, what: str) -> None:
    """Raise if replicas meet where each may take a different way."""
    if meets(eqn):
        frames = [frame for frame in eqn.source_info.traceback.frames if of_user(frame.file_name)]
        place = f" at {line_text(frames[0].file_name, frames[0].line_num)}" if frames else ""
        raise MeetingError(
            f"The replicas were to meet (in all_reduce(), all_gather(), merge_call() or a write to a mirrored variable) in a {what}"
            f"{place} whose condition may differ between replicas; expected all of them to take the same way, because the others "
            f"would wait for ever. Meet outside of it, or reduce the condition first, as in "
            f"tf.reduce_all(context.all_gather(condition, 0))."
        )


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
