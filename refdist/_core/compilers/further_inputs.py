"""Inputs of a program that are found only while it is written, such as the elements that its body takes from iterators.

JAX wants to know all inputs before it traces a body. So a step of its own stands for such an input, and is turned into one
when the program is complete.
"""

from typing import Any, NamedTuple

import jax
from jax.core import ShapedArray
from jax.extend.core import ClosedJaxpr, Primitive

_FURTHER = Primitive("further_input")


@_FURTHER.def_abstract_eval
def _aval(*, shape: tuple[Any, ...], dtype: Any, own: bool, number: int) -> Any:
    return ShapedArray(shape, dtype)


def further_input(shape: tuple[Any, ...], dtype: Any, *, own: bool, number: int) -> jax.Array:
    """What stands for one more input of the program that is being written.

    Args:
        own: whether each replica has its own.
        number: by which the input is known in the complete program.
    """
    return _FURTHER.bind(shape=shape, dtype=dtype, own=own, number=number)


class Further(NamedTuple):
    """What is known about the further inputs of a program."""

    numbers: tuple[int, ...]
    own: tuple[bool, ...]  # whether each replica has its own


def with_further_inputs(program: ClosedJaxpr) -> tuple[ClosedJaxpr, Further]:
    """The same program with its further inputs before the others."""
    steps: Any = program.jaxpr.eqns
    asked = [step for step in steps if step.primitive is _FURTHER]
    if not asked:
        return program, Further((), ())
    jaxpr = program.jaxpr.replace(
        eqns=[step for step in steps if step.primitive is not _FURTHER],
        invars=[*(step.outvars[0] for step in asked), *program.jaxpr.invars],
    )
    known = Further(*(tuple(step.params[name] for step in asked) for name in ("number", "own")))
    return ClosedJaxpr(jaxpr, program.consts), known
