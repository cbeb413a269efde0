"""Programs of functions of JAX, written for shapes without values."""

from collections.abc import Callable
from typing import Any

import jax
from jax.interpreters.partial_eval import dce_jaxpr
from jax.sharding import AbstractMesh, PartitionSpec

from refdist._core.compilers.jaxpr_steps import plain


def abstract(shape: tuple[int, ...], dtype: Any) -> Any:
    """What stands for an array of this shape."""
    return jax.ShapeDtypeStruct(shape, dtype)


def program_of(function: Callable[..., Any], args: tuple[Any, ...], axis_name: str | None) -> Any:
    """The steps of a function; those that meet others do so by the name of an axis, which has two devices while it is written."""
    if axis_name is None:
        return _without_waste(plain(jax.make_jaxpr(function)(*args)))
    mesh = AbstractMesh((2,), (axis_name,))
    everywhere = PartitionSpec()
    spread = jax.shard_map(function, mesh=mesh, in_specs=everywhere, out_specs=everywhere, check_vma=False)
    return _without_waste(plain(jax.make_jaxpr(spread)(*args)))


def _without_waste(jaxpr: Any) -> Any:
    """Leave out steps whose results nobody uses, as compilers do."""
    return dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars), instantiate=True)[0]
