"""Branches and loops of a program, made from pieces that were written by themselves."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.core import eval_jaxpr as evaluated
from jax.extend.core import Literal

from refdist._core.compilers.jax_traces import unseen_trace

State = Sequence[Any]


@dataclasses.dataclass(frozen=True)
class Piece:
    """A part of a program, as a function of tensors; it reads what is around it, too."""

    program: Any

    def __call__(self, *inputs: Any) -> list[Any]:
        return list(evaluated(self.program.jaxpr, self.program.consts, *inputs))

    def reads(self, place: int) -> bool:
        """Say whether an input matters."""
        var, jaxpr = self.program.jaxpr.invars[place], self.program.jaxpr
        atoms = [atom for eqn in jaxpr.eqns for atom in eqn.invars] + list(jaxpr.outvars)
        return any(not isinstance(atom, Literal) and atom is var for atom in atoms)


def written(body: Callable[..., Sequence[Any]], inputs: State) -> Piece:
    """Call a body once, with what stands for inputs like these, and keep what it does."""
    avals = [jax.ShapeDtypeStruct(jnp.shape(one), one.dtype) for one in inputs]
    with unseen_trace():  # so that no cache of JAX answers with what was written elsewhere
        return Piece(jax.make_jaxpr(lambda *given: [strong(out) for out in body(*given)])(*avals))


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
    body: Callable[[Any, Any, State], State],
    state: State,
    *,
    count: Any,
    test: Callable[[State], Any] | None,
    rows: Any = None,
) -> list[Any]:
    """Repeat a body as long as a test holds, but at most so many times; return the last state.

    Where the number of turns is known, the loop can be differentiated in both directions.

    Args:
        body: takes the number of the turn, a row, and the state.
        count: a number, a tensor, or None.
        rows: a tensor with a row for each turn.
    """
    if isinstance(count, int):
        return _scanned(body, state, count, test, rows)

    def goes_on(carried: Any) -> Any:
        turn, now = carried
        more = True if count is None else turn < count
        return more if test is None else jnp.logical_and(more, jnp.reshape(test(now), ()))

    def step(carried: Any) -> Any:
        turn, now = carried
        row = None if rows is None else lax.dynamic_index_in_dim(rows, turn, keepdims=False)
        return turn + 1, list(body(turn, row, now))

    return list(lax.while_loop(goes_on, step, (jnp.int32(0), [strong(one) for one in state]))[1])


def _scanned(body: Any, state: State, count: int, test: Any, rows: Any) -> list[Any]:
    def step(now: Any, given: Any) -> Any:
        turn, row = given
        if test is None:
            return list(body(turn, row, now)), None
        going = jnp.reshape(test(now), ())
        return lax.cond(going, lambda: list(body(turn, row, now)), lambda: list(now)), None

    turns = jnp.arange(count, dtype=jnp.int32)
    return list(lax.scan(step, [strong(one) for one in state], (turns, rows), length=count)[0])


def number_of_steps(start: Any, limit: Any, delta: Any) -> jax.Array:
    """How many numbers there are from start up to limit."""
    start, limit, delta = map(jnp.asarray, (start, limit, delta))
    if jnp.issubdtype(delta.dtype, jnp.floating):
        return jnp.maximum(jnp.ceil(jnp.divide(limit - start, delta)), 0).astype(jnp.int32)
    more = jnp.where(delta > 0, delta - 1, delta + 1)
    return jnp.maximum(jnp.floor_divide(limit - start + more, delta), 0).astype(jnp.int32)


def stirred(entropy: Any, turn: Any) -> jax.Array:
    """The source of random numbers for one turn of a loop."""
    key = jax.random.wrap_key_data(entropy, impl="threefry2x32")
    return jax.random.key_data(jax.random.fold_in(key, jnp.uint32(0x9E3779B9) + turn.astype(jnp.uint32)))
