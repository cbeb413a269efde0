"""The program of one replica, written out for each of a few replicas: a loop where a batch axis would be slow.

That is the case for matrix products: with a batch axis they become many small ones, which take a processor three to five
times as long. What is equal on all replicas is computed once.
"""

import functools
import operator
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jax.extend.core import Literal, jaxprs_in_params

from refdist._core.compilers.jaxpr_steps import CALLS, MEETINGS, asks_who, bound, meets, plain

MOST_REPLICAS = 8
_PRODUCTS = frozenset({"dot_general", "conv_general_dilated"})
_KNOWN = frozenset({"psum", "all_gather"})


def worth_it(jaxpr: Any, count: int, *, differ: bool) -> bool:
    """Say whether a program should be written out, and can be.

    It is faster if there are products. If replicas take different steps, a batch axis would make each take those of all
    others too, on numbers for which these may never end.
    """
    return count > 1 and (differ or (count <= MOST_REPLICAS and _has_products(jaxpr))) and _can_be(jaxpr)


def unrolled(closed: Any, inputs: Sequence[Sequence[Any]], count: int) -> list[list[Any]]:
    """Run a program for all replicas at once, step by step, and return the outputs of each.

    Args:
        inputs: for each input, its value on each replica; a value that is one object is equal on all.
    """
    columns = _steps(closed.jaxpr, [[const] * count for const in closed.consts], inputs, count)
    return [[column[index] for column in columns] for index in range(count)]


def _steps(jaxpr: Any, consts: Sequence[Any], inputs: Sequence[Any], count: int) -> list[list[Any]]:
    env: dict[Any, list[Any]] = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *inputs], strict=True))

    def read(atom: Any) -> list[Any]:
        return [atom.val] * count if isinstance(atom, Literal) else env[atom]

    for eqn in jaxpr.eqns:
        columns = [read(atom) for atom in eqn.invars]
        env.update(zip(eqn.outvars, _step(eqn, columns, count), strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _step(eqn: Any, columns: Sequence[list[Any]], count: int) -> list[list[Any]]:
    name = eqn.primitive.name
    if name == "psum":
        return [[functools.reduce(operator.add, column)] * count for column in columns]
    if name == "all_gather":
        join = jnp.concatenate if eqn.params["tiled"] else jnp.stack
        return [[join(column, axis=eqn.params["all_gather_dimension"])] * count for column in columns]
    if name == "axis_index":
        return [[jnp.int32(index) for index in range(count)]]
    if name in CALLS and (meets(eqn) or asks_who(eqn)):
        inner = eqn.params["jaxpr"]
        return _steps(inner.jaxpr, [[const] * count for const in inner.consts], columns, count)
    if not eqn.effects and all(value is column[0] for column in columns for value in column):
        return [[out] * count for out in bound(eqn, [column[0] for column in columns])]
    return [list(outs) for outs in zip(*[bound(eqn, values) for values in zip(*columns, strict=True)], strict=True)]


def _has_products(jaxpr: Any) -> bool:
    return any(
        eqn.primitive.name in _PRODUCTS or any(_has_products(plain(inner)) for inner in jaxprs_in_params(eqn.params))
        for eqn in jaxpr.eqns
    )


def _can_be(jaxpr: Any) -> bool:
    """Say whether replicas meet only where the steps of a program can be taken one after the other."""
    for eqn in jaxpr.eqns:
        name = eqn.primitive.name
        if name in MEETINGS and name not in _KNOWN:
            return False
        if name in CALLS:
            if not _can_be(eqn.params["jaxpr"].jaxpr):
                return False
        elif name not in MEETINGS and name != "axis_index" and (meets(eqn) or asks_who(eqn)):
            return False
    return True
