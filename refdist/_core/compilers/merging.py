"""Merges the programs that replicas have written into one."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import eval_jaxpr as evaluated
from jax.extend.core import Literal

from refdist._core.base.jax_facts import is_tracer
from refdist._core.compilers.jaxpr_steps import CALLS, MEETINGS, bound, meets, read
from refdist._core.compilers.likeness import alike, same_bits
from refdist._core.compilers.meshes import AXIS
from refdist._core.seam.compiler import ReplicaPart


def merged(parts: Sequence[ReplicaPart], columns: Sequence[Sequence[Any]]) -> tuple[list[Any], bool]:
    """Run one program for all replicas, and return some of its results, and whether the replicas take different steps.

    Usually all have written the same program. If only numbers differ, each replica uses its own; if the steps differ,
    each takes only its own steps, but all meet in the same meetings.

    Args:
        columns: for each wanted result, where each replica has it: an index into its outputs, or the value itself.
    """
    first, *others = parts
    if all(isinstance(place, int) and place == column[0] for column in columns for place in column):
        numbers = _Numbers(first, others)
        if numbers.aligned:
            outputs = numbers.run()
            return [outputs[column[0]] for column in columns], False
    outputs = _all_steps(parts)
    places = [
        [out[place] if isinstance(place, int) else place for out, place in zip(outputs, column, strict=True)]
        for column in columns
    ]
    return [_own(values) for values in places], True


class _Numbers:
    """Programs that differ at most in the numbers in them, compared step by step."""

    def __init__(self, first: Any, others: Sequence[Any]) -> None:
        self._first = first
        self._literals: dict[tuple[int, int], list[Any]] = {}
        self._consts: dict[int, list[Any]] = {}
        self._count = 1 + len(others)
        self.aligned = all(self._align(other, number) for number, other in enumerate(others, 1))

    def run(self) -> list[Any]:
        """Run the first program, with each replica's own numbers."""
        consts = [_own(self._consts[i]) if i in self._consts else c for i, c in enumerate(self._first.consts)]
        if not self._literals:
            return evaluated(self._first.jaxpr, consts)
        env = dict(zip(self._first.jaxpr.constvars, consts, strict=True))
        for step, eqn in enumerate(self._first.jaxpr.eqns):
            values = [
                _own(self._literals[step, place]) if (step, place) in self._literals else read(env, atom)
                for place, atom in enumerate(eqn.invars)
            ]
            env.update(zip(eqn.outvars, bound(eqn, values), strict=True))
        outs = self._first.jaxpr.outvars
        last = len(self._first.jaxpr.eqns)
        return [
            _own(self._literals[last, place]) if (last, place) in self._literals else read(env, atom)
            for place, atom in enumerate(outs)
        ]

    def _align(self, other: Any, number: int) -> bool:
        mine, theirs = self._first.jaxpr, other.jaxpr
        if len(mine.eqns) != len(theirs.eqns) or len(mine.constvars) != len(theirs.constvars):
            return False
        same = dict(zip(theirs.constvars, mine.constvars, strict=True))
        for place, (a, b) in enumerate(zip(self._first.consts, other.consts, strict=True)):
            if not self._align_const(place, a, b, number):
                return False
        for step, (a, b) in enumerate(zip(mine.eqns, theirs.eqns, strict=True)):
            if a.primitive is not b.primitive or not alike(a.params, b.params) or len(a.invars) != len(b.invars):
                return False
            if not self._align_atoms(step, a.invars, b.invars, same, number):
                return False
            if [v.aval for v in a.outvars] != [v.aval for v in b.outvars]:
                return False
            same.update(zip(b.outvars, a.outvars, strict=True))
        if len(mine.outvars) != len(theirs.outvars):
            return False
        return self._align_atoms(len(mine.eqns), mine.outvars, theirs.outvars, same, number)

    def _align_const(self, place: int, a: Any, b: Any, number: int) -> bool:
        if a is b:
            if place in self._consts:
                self._consts[place].append(b)
            return True
        if np.shape(a) != np.shape(b) or a.dtype != b.dtype:
            return False
        if is_tracer(a) or is_tracer(b) or not same_bits(a, b):
            self._consts.setdefault(place, [a] * number).append(b)
        elif place in self._consts:
            self._consts[place].append(b)
        return True

    def _align_atoms(self, step: int, mine: Any, theirs: Any, same: dict[Any, Any], number: int) -> bool:
        for place, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            if isinstance(a, Literal) != isinstance(b, Literal):
                return False
            if not isinstance(a, Literal):
                if same.get(b) is not a:
                    return False
                continue
            if a.aval != b.aval:
                return False
            differing = self._literals.get((step, place))
            if differing is not None:
                differing.append(b.val)
            elif not same_bits(a.val, b.val):
                self._literals[step, place] = [*[a.val] * number, b.val]
        return True


def _all_steps(programs: Sequence[Any]) -> list[list[Any]]:
    """Make every replica take the steps of its own program; all meet in the same meetings.

    Between meetings a replica has values that the others do not have: each carries zeros in place of the others' values.
    """
    envs: list[dict[Any, Any]] = [dict(zip(p.jaxpr.constvars, p.consts, strict=True)) for p in programs]
    remaining: list[list[Any]] = [list(p.jaxpr.eqns) for p in programs]
    while True:
        stretches = [_stretch(env, eqns) for env, eqns in zip(envs, remaining, strict=True)]
        needed = [_needed(eqns, p.jaxpr.outvars) for eqns, p in zip(remaining, programs, strict=True)]
        _take(envs, stretches, needed)
        if not any(remaining):
            return [[read(env, atom) for atom in p.jaxpr.outvars] for env, p in zip(envs, programs, strict=True)]
        met: list[Any] = [eqns.pop(0) if eqns else None for eqns in remaining]
        first = met[0]
        if any(
            one is None or one.primitive is not first.primitive or not alike(one.params, first.params) for one in met
        ):
            raise ValueError(
                "The replicas have written programs that meet inside a jax transformation (such as lax.scan) in different ways; "
                "expected the same steps there. Do what depends on the replica outside of it, or use tf.function(trace_once=True)."
            )
        columns = zip(*[[read(env, a) for a in eqn.invars] for env, eqn in zip(envs, met, strict=True)], strict=True)
        outs = bound(first, [_own(list(column)) for column in columns])
        for env, eqn in zip(envs, met, strict=True):
            env.update(zip(eqn.outvars, outs, strict=True))


def _stretch(env: dict[Any, Any], eqns: list[Any]) -> list[Any]:
    """Split off the steps of a program up to the next meeting; calls in which replicas meet are taken apart."""
    steps: list[Any] = []
    while eqns and eqns[0].primitive.name not in MEETINGS:
        if meets(eqns[0]):
            if eqns[0].primitive.name not in CALLS:
                break
            _open(steps, env, eqns)
        else:
            steps.append(eqns.pop(0))
    return steps


def _needed(eqns: Sequence[Any], outputs: Sequence[Any]) -> set[Any]:
    return {
        atom for atoms in [*(eqn.invars for eqn in eqns), outputs] for atom in atoms if not isinstance(atom, Literal)
    }


def _take(envs: list[dict[Any, Any]], stretches: list[list[Any]], needed: list[set[Any]]) -> None:
    """Make each replica take only its own steps, and leave in every environment what will be needed."""
    made = [
        [v for eqn in steps for v in eqn.outvars if v in want] for steps, want in zip(stretches, needed, strict=True)
    ]

    def branch(number: int) -> Callable[[], list[Any]]:
        def own() -> list[Any]:
            env = dict(envs[number])
            for eqn in stretches[number]:
                env.update(zip(eqn.outvars, bound(eqn, [read(env, atom) for atom in eqn.invars]), strict=True))
            return [
                # What a replica has in place of the results of others does not matter: it never reads them.
                env[var] if replica == number else jnp.zeros(var.aval.shape, var.aval.dtype)
                for replica, group in enumerate(made)
                for var in group
            ]

        return own

    if not any(stretches):
        return
    results = iter(lax.switch(lax.axis_index(AXIS), [branch(number) for number in range(len(envs))]))
    for env, group in zip(envs, made, strict=True):
        env.update((var, next(results)) for var in group)


class _Alias(NamedTuple):
    """The end of a call that was taken apart: what it returns gets the names that the caller uses."""

    invars: Sequence[Any]
    outvars: Sequence[Any]
    ctx: Any
    params: dict[str, Any]
    primitive: Any


class _Nothing:
    """Stands where a primitive would, and passes its arguments on."""

    name = "alias"
    multiple_results = True

    @staticmethod
    def bind(*values: Any) -> Sequence[Any]:
        return values

    @staticmethod
    def get_bind_params(params: dict[str, Any]) -> dict[str, Any]:
        return params


def _open(steps: list[Any], env: dict[Any, Any], eqns: list[Any]) -> None:
    """Put the steps of a called program in place of the call, so that its meetings are seen."""
    call = eqns.pop(0)
    inner = call.params["jaxpr"]
    env.update(zip(inner.jaxpr.constvars, inner.consts, strict=True))
    steps.append(_Alias(call.invars, inner.jaxpr.invars, call.ctx, {}, _Nothing))
    eqns[:0] = [*inner.jaxpr.eqns, _Alias(inner.jaxpr.outvars, call.outvars, call.ctx, {}, _Nothing)]


def _own(values: list[Any]) -> Any:
    """The replica's own value, given one for each replica."""
    if all(value is values[0] for value in values):
        return values[0]
    return jnp.stack([jnp.asarray(value) for value in values])[lax.axis_index(AXIS)]
