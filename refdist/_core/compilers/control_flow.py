"""Branches and loops of a program, made from pieces that were written by themselves."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import eval_jaxpr as evaluated

from refdist._core.base.entropy import RUNS
from refdist._core.compilers.jax_traces import unseen_trace
from refdist._core.seam.draft import NeedsPython

State = Sequence[Any]


@dataclasses.dataclass(frozen=True)
class Piece:
    """A part of a program, as a function of tensors; it reads what is around it, too."""

    program: Any

    def __call__(self, *inputs: Any, instead: dict[int, Any] | None = None) -> list[Any]:
        """Take the steps of the piece.

        Args:
            instead: what takes the places of arrays that it has found around it, by their ids.
        """
        others = instead or {}
        return list(evaluated(self.program.jaxpr, [others.get(id(c), c) for c in self.program.consts], *inputs))

    def finds(self, array: Any) -> bool:
        """Say whether it reads an array that is around it."""
        return any(const is array for const in self.program.consts)

    def reads(self, place: int) -> bool:
        """Say whether an input matters."""
        return place in self._read

    @functools.cached_property
    def _read(self) -> frozenset[int]:
        jaxpr = self.program.jaxpr
        atoms = {id(atom) for eqn in jaxpr.eqns for atom in eqn.invars} | {id(atom) for atom in jaxpr.outvars}
        return frozenset(place for place, var in enumerate(jaxpr.invars) if id(var) in atoms)


def written(body: Callable[..., Sequence[Any]], inputs: State) -> Piece:
    """Call a body once, with what stands for inputs like these, and keep what it does."""
    avals = [jax.ShapeDtypeStruct(jnp.shape(one), one.dtype) for one in inputs]
    with unseen_trace():  # so that no cache of JAX answers with what was written elsewhere
        program = jax.make_jaxpr(lambda *given: [strong(out) for out in body(*given)])(*avals)
    if any(eqn.primitive.name == "further_input" for eqn in program.jaxpr.eqns):
        raise NeedsPython  # it takes an element of a dataset, of which each turn needs its own
    return Piece(program)


def strong(value: Any) -> jax.Array:
    """A value as an array that keeps its dtype, whatever it is combined with."""
    return jnp.asarray(value, value.dtype)


def zeros_like(value: Any) -> jax.Array:
    """Zeros of the same shape and dtype."""
    return jnp.zeros(value.shape, value.dtype)


def both(first: Any, second: Any) -> jax.Array:
    """Say whether two conditions hold."""
    return jnp.logical_and(first, second)


def negated(condition: Any) -> jax.Array:
    """Say whether a condition does not hold."""
    return jnp.logical_not(condition)


def choose(condition: Any, first: Callable[[], State], second: Callable[[], State]) -> list[Any]:
    """What one of two pieces makes, depending on a condition."""
    return list(lax.cond(jnp.reshape(condition, ()), lambda: list(first()), lambda: list(second())))


def choose_among(index: Any, branches: Sequence[Callable[[], State]]) -> list[Any]:
    """What one of several pieces makes; the index is brought into range."""
    return list(lax.switch(index, [lambda one=one: list(one()) for one in branches]))


def repeat(
    body: Callable[[Any, Sequence[Any], State], State],
    state: State,
    *,
    count: Any,
    test: Callable[[State], Any] | None = None,
    rows: Sequence[Any] = (),
    limit: int | None = None,
) -> list[Any]:
    """Repeat a body as long as a test holds, but at most so many times; return the last state.

    What the body returns beyond the state is stacked, if the number of turns is known and there is no test.

    Where the number of turns is known, the loop can be differentiated in both directions.

    Args:
        body: takes the number of the turn, the rows for it, and the state.
        count: a number, a tensor, or None.
        rows: tensors with a row for each turn.
        limit: how often it turns at most; with it, the loop can be differentiated although the count is a tensor.
    """
    if isinstance(count, int):
        return _scanned(body, state, count, None if test is None else (lambda _, now: test(now)), list(rows))
    if limit is not None:

        def within(turn: Any, now: State) -> Any:
            more = turn < count
            return more if test is None else jnp.logical_and(more, jnp.reshape(test(now), ()))

        return _scanned(body, state, limit, within, [one[:limit] for one in rows])

    def goes_on(carried: Any) -> Any:
        turn, now = carried
        more = True if count is None else turn < count
        return more if test is None else jnp.logical_and(more, jnp.reshape(test(now), ()))

    def step(carried: Any) -> Any:
        turn, now = carried
        own = [lax.dynamic_index_in_dim(one, turn, keepdims=False) for one in rows]
        return turn + 1, list(body(turn, own, now))

    return list(lax.while_loop(goes_on, step, (jnp.int32(0), [strong(one) for one in state]))[1])


def _scanned(body: Any, state: State, count: int, test: Any, rows: list[Any]) -> list[Any]:
    def step(now: Any, given: Any) -> Any:
        turn, own = given
        if test is None:
            made = list(body(turn, own, now))
            return made[: len(now)], made[len(now) :]
        going = jnp.reshape(test(turn, now), ())
        return lax.cond(going, lambda: list(body(turn, own, now)), lambda: list(now)), []

    turns = jnp.arange(count, dtype=jnp.int32)
    last, stacked = lax.scan(step, [strong(one) for one in state], (turns, rows), length=count)
    return [*last, *stacked]


def with_row(tensor: Any, index: Any, row: Any) -> jax.Array:
    """A tensor with another row at an index, which is in range."""
    return lax.dynamic_update_index_in_dim(jnp.asarray(tensor), row, index, 0)


def row_of(tensor: Any, index: Any) -> jax.Array:
    """The row of a tensor at an index, which is in range."""
    return lax.dynamic_index_in_dim(jnp.asarray(tensor), index, keepdims=False)


def number_of_steps(start: Any, limit: Any, delta: Any) -> jax.Array:
    """How many numbers there are from start up to limit."""
    start, limit, delta = map(jnp.asarray, (start, limit, delta))
    if jnp.issubdtype(delta.dtype, jnp.floating):
        return jnp.maximum(jnp.ceil(jnp.divide(limit - start, delta)), 0).astype(jnp.int32)
    more = jnp.where(delta > 0, delta - 1, delta + 1)
    return jnp.maximum(jnp.floor_divide(limit - start + more, delta), 0).astype(jnp.int32)


def stirred(entropy: Any, turn: Any, count: Any) -> jax.Array:
    """The source of random numbers for one turn of a loop: it goes on from run to run, as long as a loop turns equally often.

    Args:
        count: how often it turns; None for a loop of which this is not known.
    """
    runs = jnp.asarray(entropy)[RUNS]
    most = np.uint32(1 << 16) if count is None else jnp.asarray(count).astype(jnp.uint32)
    return jnp.asarray(entropy).at[RUNS].set(runs * most + turn.astype(jnp.uint32))
