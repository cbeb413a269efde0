"""Programs that are written for tensors of any size, and then made for certain ones.

JAX can trace with symbols in the place of sizes, but it compiles for known sizes. So the symbols in a program are replaced by
numbers, once for each shape: the body that wrote the program need not be called again.
"""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import ClosedJaxpr, Literal, Var

from refdist._core.compilers.jaxpr_steps import plain

_SCOPE = jax.export.SymbolicScope()

Sizes = Mapping[str, int]


def open_size(name: str) -> Any:
    """What stands for a size that is not known yet."""
    (size,) = jax.export.symbolic_shape(name, scope=_SCOPE)
    return size


def is_open(size: Any) -> bool:
    """Say whether a size is not known yet."""
    return hasattr(size, "_evaluate")


def sized(value: Any, sizes: Sizes) -> Any:
    """A shape, a program, or another parameter of a step, with numbers in the place of open sizes."""
    if is_open(value):
        return int(value._evaluate(dict(sizes)))
    if isinstance(value, ClosedJaxpr):
        inner = _Sizing(sizes).program(value.jaxpr)
        return value if inner is value.jaxpr else ClosedJaxpr(inner, value.consts)
    if hasattr(value, "eqns"):
        return _Sizing(sizes).program(value)
    if type(value) in (tuple, list):
        return type(value)([sized(one, sizes) for one in value])
    return value


class _Sizing:
    """Replaces the open sizes of one program; what has none stays the very same."""

    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes
        self._atoms: dict[Any, Any] = {}

    def program(self, jaxpr: Any) -> Any:
        if not _has_open_sizes(jaxpr):
            return jaxpr
        inputs = [[self._atom(one) for one in some] for some in (jaxpr.constvars, jaxpr.invars)]
        steps = [step for eqn in jaxpr.eqns for step in self._step(eqn)]
        outputs = [self._atom(one) for one in jaxpr.outvars]
        return jaxpr.replace(constvars=inputs[0], invars=inputs[1], eqns=steps, outvars=outputs)

    def _step(self, eqn: Any) -> list[Any]:
        if eqn.primitive.name == "dim_as_value":
            (made,) = eqn.outvars
            number = np.asarray(sized(eqn.params["dim"], self._sizes), made.aval.dtype)
            self._atoms[made] = Literal(number[()], made.aval)
            return []
        params = {name: sized(value, self._sizes) for name, value in eqn.params.items()}
        atoms = [[self._atom(one) for one in some] for some in (eqn.invars, eqn.outvars)]
        return [eqn.replace(invars=atoms[0], outvars=atoms[1], params=params)]

    def _atom(self, atom: Any) -> Any:
        if isinstance(atom, Literal):
            return atom
        if atom not in self._atoms:
            self._atoms[atom] = Var(_sized_aval(atom.aval, self._sizes)) if _is_open_aval(atom.aval) else atom
        return self._atoms[atom]


def _sized_aval(aval: Any, sizes: Sizes) -> Any:
    return ShapedArray(sized(tuple(aval.shape), sizes), aval.dtype, weak_type=aval.weak_type)


def _is_open_aval(aval: Any) -> bool:
    return any(map(is_open, getattr(aval, "shape", ())))


def _has_open_sizes(jaxpr: Any) -> bool:
    atoms = [*jaxpr.invars, *jaxpr.constvars, *(made for eqn in jaxpr.eqns for made in eqn.outvars)]
    return any(_is_open_aval(atom.aval) for atom in atoms) or any(
        _is_open_param(value) for eqn in jaxpr.eqns for value in eqn.params.values()
    )


def _is_open_param(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_is_open_param, value))
    return _has_open_sizes(plain(value)) if hasattr(plain(value), "eqns") else is_open(value)
