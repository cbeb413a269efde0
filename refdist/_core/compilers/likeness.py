"""Whether two replicas have written the same thing: programs, their parameters, and the numbers in them."""

import dataclasses
from typing import Any

import numpy as np
from jax.extend.core import Literal

from refdist._core.base.jax_facts import is_tracer
from refdist._core.compilers.jaxpr_steps import plain


def same_bits(a: Any, b: Any) -> bool:
    """Say whether two arrays have the same bits: 0.0 differs from -0.0, and nan equals itself."""
    one, other = np.asarray(a), np.asarray(b)
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def alike(a: Any, b: Any) -> bool:
    """Say whether the parameters of two steps mean the same."""
    if a is b:
        return True
    if hasattr(a, "eqns") and hasattr(b, "eqns"):
        return _same_program(a, b)
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        # Derivative rules are functions that each trace makes anew, next to the program that they belong to.
        program = any(hasattr(value, "eqns") for value in a.values())
        rules = {key for key in a if program and (callable(a[key]) or hasattr(a[key], "call_wrapped"))}
        return a.keys() == b.keys() and all(key in rules or alike(a[key], b[key]) for key in a)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, np.ndarray):
        return same_bits(a, b)
    if dataclasses.is_dataclass(a):
        return all(alike(getattr(a, field.name), getattr(b, field.name)) for field in dataclasses.fields(a))
    if callable(a):
        return _same_function(a, b)
    return bool(a == b)


def _same_function(a: Any, b: Any) -> bool:
    """Say whether two functions do the same: they share their code, and have the same values inside."""
    if a == b:
        return True
    if getattr(a, "__code__", None) is None or a.__code__ is not getattr(b, "__code__", None):
        return False
    parts = [[*(cell.cell_contents for cell in one.__closure__ or ()), *(one.__defaults__ or ())] for one in (a, b)]
    return all(x is y or (type(x) is type(y) and alike(x, y)) for x, y in zip(*parts, strict=True))


def _same_program(a: Any, b: Any) -> bool:
    """Say whether two inner programs are the same, numbers included."""
    consts = zip(getattr(a, "consts", ()), getattr(b, "consts", ()), strict=False)
    if any(x is not y and (is_tracer(x) or is_tracer(y) or not same_bits(x, y)) for x, y in consts):
        return False
    mine, theirs = plain(a), plain(b)
    if len(mine.eqns) != len(theirs.eqns) or [v.aval for v in mine.invars] != [v.aval for v in theirs.invars]:
        return False
    same = dict(zip([*theirs.constvars, *theirs.invars], [*mine.constvars, *mine.invars], strict=False))

    def atoms(xs: Any, ys: Any) -> bool:
        return len(xs) == len(ys) and all(
            (isinstance(y, Literal) and x.aval == y.aval and same_bits(x.val, y.val))
            if isinstance(x, Literal)
            else same.get(y) is x
            for x, y in zip(xs, ys, strict=True)
        )

    for x, y in zip(mine.eqns, theirs.eqns, strict=True):
        if x.primitive is not y.primitive or not atoms(x.invars, y.invars) or not alike(x.params, y.params):
            return False
        same.update(zip(y.outvars, x.outvars, strict=True))
    return atoms(mine.outvars, theirs.outvars)
