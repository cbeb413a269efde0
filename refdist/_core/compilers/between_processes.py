"""What should be equal in all processes of a program, and is not certain to be: a plain value is each process's own."""

import dataclasses
from collections.abc import Collection, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import Literal, Var

from refdist._core.compilers.meshes import AXIS
from refdist._core.compilers.varying import varying_outputs
from refdist._core.seam.compiler import WrittenProgram

_ODD = 0x9E3779B1


def with_outputs_to_compare(
    program: WrittenProgram, common_inputs: Sequence[bool], common_outputs: Collection[int]
) -> WrittenProgram:
    """A program that also compares what depends on a plain value which may differ between processes.

    Args:
        common_inputs: whether an input is the same in all processes, as a mirrored variable is.
        common_outputs: those that have to be the same in all of them.
    """
    own = [own or not common for own, common in zip(program.own_inputs, common_inputs, strict=True)]
    program = dataclasses.replace(program, common=frozenset(common_outputs))
    unsure = _unsure(program, own)
    return dataclasses.replace(program, compared=(*program.compared, *unsure), by_digest=frozenset(unsure))


def with_numbers_as_constants(program: WrittenProgram) -> WrittenProgram | None:
    """A program in which the numbers of Python are constants, of which each process has its own.

    None where one of them would make something differ that has to be the same in all processes.
    """
    closed = program.jaxpr
    numbers: list[Any] = []
    places: list[Var] = []

    def atom(found: Any) -> Any:
        aval: Any = found.aval
        if not isinstance(found, Literal) or aval.shape or aval.dtype.kind not in "biufcV":
            return found
        numbers.append(np.asarray(found.val, aval.dtype))
        places.append(Var(found.aval))
        return places[-1]

    eqns = [eqn.replace(invars=[atom(one) for one in eqn.invars]) for eqn in closed.jaxpr.eqns]
    outvars = [atom(one) for one in closed.jaxpr.outvars]
    jaxpr = closed.jaxpr.replace(
        constvars=[*closed.jaxpr.constvars, *places],
        eqns=eqns,
        outvars=outvars,
        debug_info=closed.jaxpr.debug_info.with_unknown_names(),
    )
    loosened = dataclasses.replace(program, jaxpr=closed.replace(jaxpr=jaxpr, consts=[*closed.consts, *numbers]))
    return None if _unsure(loosened, program.own_inputs) else loosened


def with_constants_as_inputs(program: WrittenProgram) -> tuple[WrittenProgram, Sequence[Any]]:
    """A program without the tensors that it refers to, and these: each process has its own, and all have one program."""
    closed, count = program.jaxpr, len(program.jaxpr.consts)
    jaxpr = closed.jaxpr.replace(
        constvars=[],
        invars=[*closed.jaxpr.constvars, *closed.jaxpr.invars],
        debug_info=closed.jaxpr.debug_info.with_unknown_names(),
    )
    return dataclasses.replace(
        program,
        jaxpr=closed.replace(jaxpr=jaxpr, consts=[]),
        own_inputs=(*[False] * count, *program.own_inputs),
        used=(*range(count), *(index + count for index in program.used)),
    ), closed.consts


def _unsure(program: WrittenProgram, own_inputs: Sequence[bool]) -> tuple[int, ...]:
    """Outputs that have to be the same in all processes, and may differ without being compared."""
    varying, _ = varying_outputs(program.jaxpr.jaxpr, own_inputs, own_constants=True)
    return tuple(index for index in sorted(program.common) if varying[index] and index not in program.compared)


def digests(tensors: Sequence[jax.Array]) -> jax.Array:
    """A number of 32 bits for each tensor: exchanging these costs nothing, where the tensors would double what is exchanged."""
    return jnp.stack([_digest(tensor) for tensor in tensors])


def equal_to_the_first(numbers: jax.Array) -> list[jax.Array]:
    """Whether each number of a vector is what it is on the first replica."""
    same = numbers == lax.all_gather(numbers, AXIS)[0]
    return [same[index] for index in range(numbers.shape[0])]


def _digest(tensor: jax.Array) -> jax.Array:
    words = _words(tensor).ravel()
    places = lax.iota(jnp.uint32, words.shape[0]) * 2 + 1
    mixed = (words ^ (words >> 15)) * jnp.uint32(_ODD)
    return jnp.sum((mixed ^ (mixed >> 13)) * places, dtype=jnp.uint32)


def _words(tensor: jax.Array) -> jax.Array:
    """The bits of a tensor in pieces of 32."""
    if tensor.dtype == jnp.bool_ or tensor.dtype.itemsize < 4:
        narrow = tensor if tensor.dtype.kind in "biu" else lax.bitcast_convert_type(tensor, _narrow(tensor))
        return narrow.astype(jnp.uint32)
    if tensor.dtype.kind == "c":
        return jnp.stack([_words(tensor.real), _words(tensor.imag)])
    return lax.bitcast_convert_type(tensor, jnp.uint32)


def _narrow(tensor: jax.Array) -> type:
    return jnp.uint8 if tensor.dtype.itemsize == 1 else jnp.uint16
