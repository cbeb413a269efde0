"""What a program asks of a device: operations, bytes, and what it exchanges with others."""

import dataclasses
import math
from typing import Any

import numpy as np
from jax.extend.core import Literal, jaxprs_in_params

from refdist.backends.jax.merging import MEETINGS, plain

_FREE = frozenset({"broadcast_in_dim", "reshape", "squeeze", "convert_element_type", "copy", "axis_index", "iota"})


@dataclasses.dataclass(frozen=True)
class Cost:
    """Of one replica."""

    flops: float
    moved_bytes: float
    exchanged: tuple[tuple[str, float], ...]  # "all_reduce" or "all_gather", and the bytes that a replica brings


def cost_of(jaxpr: Any) -> Cost:
    """Estimate the cost of a program: two operations for each multiplication of a product, one for each other number.

    Bytes are those of products and of the program's own inputs and outputs: a compiler keeps what is between them close.
    """
    flops, moved = 0.0, _bytes(jaxpr.invars) + _bytes(jaxpr.outvars)
    exchanged: list[tuple[str, float]] = []
    for eqn in jaxpr.eqns:
        name = eqn.primitive.name
        if name in MEETINGS:
            kind = "all_gather" if name.startswith("all_gather") else "all_reduce"
            exchanged += [(kind, _bytes([atom])) for atom in eqn.invars]
            continue
        inner = [cost_of(plain(one)) for one in jaxprs_in_params(eqn.params)]
        if inner:
            times = eqn.params.get("length", 1) if name == "scan" else 1
            largest = max(inner, key=lambda one: one.flops)  # of the branches of a condition one is taken
            flops += times * largest.flops
            moved += times * max(largest.moved_bytes - _bytes(eqn.invars) - _bytes(eqn.outvars), 0.0)
            exchanged += list(largest.exchanged) * int(times)
        elif name == "dot_general":
            (left, _), _ = eqn.params["dimension_numbers"]
            shape = eqn.invars[0].aval.shape
            flops += 2.0 * math.prod(eqn.outvars[0].aval.shape) * math.prod(shape[axis] for axis in left)
            moved += _bytes(eqn.invars) + _bytes(eqn.outvars)
        elif name not in _FREE:
            flops += float(max((math.prod(a.aval.shape) for a in [*eqn.invars, *eqn.outvars]), default=0))
    return Cost(flops, moved, tuple(exchanged))


def _bytes(atoms: Any) -> float:
    arrays = [atom.aval for atom in atoms if not isinstance(atom, Literal) and isinstance(atom.aval.dtype, np.dtype)]
    return float(sum(math.prod(one.shape) * one.dtype.itemsize for one in arrays))
