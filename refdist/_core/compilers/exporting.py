"""Programs as bytes that another process can run: the form is that of jax.export, which stays readable for months."""

import contextlib
import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import export
from jax.errors import ConcretizationTypeError

from refdist._core.compilers.meshes import AXIS

_PLATFORMS = ("cpu", "cuda", "tpu")


def shapes_of(shapes: Sequence[Sequence[int | None]], *, shared: bool) -> list[tuple[Any, ...]]:
    """Shapes with a symbol in place of each size that is not known.

    Args:
        shared: whether sizes of the same dimension of different shapes are one size; else each is its own.
    """
    scope, numbers = export.SymbolicScope(), itertools.count()

    def named(dimension: int, size: int | None) -> str:
        if size is not None:
            return str(size)
        return f"size{dimension}" if shared else f"size{next(numbers)}"

    texts = [", ".join(named(dimension, size) for dimension, size in enumerate(shape)) for shape in shapes]
    return [tuple(export.symbolic_shape(text, scope=scope)) if text else () for text in texts]


def is_about_sizes(error: BaseException) -> bool:
    """Say whether an error comes from a size that is not known, where one has to be."""
    named = any("DimensionOperation" in kind.__name__ for kind in type(error).__mro__)
    return (
        named
        or isinstance(error, ConcretizationTypeError)
        or re.search(r"ymbolic|\bsize\d|_DimExpr", str(error)) is not None
    )


def exported(program: Callable[..., Any], specs: Sequence[tuple[Any, Any]], *, wide: bool) -> bytes:
    """A program as bytes.

    Args:
        program: a function of arrays.
        specs: the shape and the dtype of each input.
        wide: whether there are numbers of 64 bits.
    """
    with _widened(wide):
        values = [jax.ShapeDtypeStruct(*spec) for spec in specs]
        made: Any = export.export(jax.jit(program), platforms=_PLATFORMS)(*values)
        try:
            return bytes(made.serialize(vjp_order=1))
        except Exception:  # what has no derivative goes without it
            return bytes(made.serialize())


def of_all_replicas(
    one: Callable[..., Any], count: int, in_the_first: Sequence[bool], out_axes: list[int | None]
) -> Callable[..., Any]:
    """What all replicas compute with the same inputs, as one program, given the program of each of them.

    Args:
        in_the_first: for each input, whether only the first replica has it, and the others have zeros: the share of a sum.
        out_axes: for each output, None if it is one for all replicas, and 0 if those of all are wanted.
    """

    def run(*values: Any) -> Any:
        pairs = list(zip(values, in_the_first, strict=True))
        given = [jnp.zeros((count, *x.shape), x.dtype).at[0].set(x) if first else x for x, first in pairs]
        axes = tuple(0 if first else None for first in in_the_first)
        return jax.vmap(one, in_axes=axes, out_axes=out_axes, axis_name=AXIS, axis_size=count)(*given)

    return one if count == 1 else run


def imported(data: bytes, *, wide: bool) -> Callable[..., Sequence[Any]]:
    """The program in bytes, as a function of its inputs."""
    program: Any = export.deserialize(bytearray(data))

    def run(*values: Any) -> Sequence[Any]:
        with _widened(wide):
            return program.call(*values)

    return run


def _widened(wide: bool) -> Any:
    return jax.enable_x64(True) if wide else contextlib.nullcontext()
