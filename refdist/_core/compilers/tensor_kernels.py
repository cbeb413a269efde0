"""Operations that numpy does not have, written with JAX; the simulator computes them too, on the numbers of its tensors."""

import functools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy import linalg, special

Pads = str | Sequence[tuple[int, int]]


def exactly() -> AbstractContextManager[Any]:
    """Keep 64-bit numbers as they are."""
    return jax.enable_x64(True)


as_array = jnp.asarray
erf, erfc, erfinv, lgamma, digamma = special.erf, special.erfc, special.erfinv, special.gammaln, special.digamma

i0, i0e, i1, i1e, zeta = special.i0, special.i0e, special.i1, special.i1e, special.zeta
gammainc, gammaincc = special.gammainc, special.gammaincc


def ndtri(x: Any) -> Any:
    """The inverse of the distribution function of the normal distribution."""
    return special.ndtri(x)


def polygamma(order: Any, x: Any) -> Any:
    """A derivative of the logarithm of the gamma function; the order is a whole number."""
    return special.polygamma(order.astype(np.int32), x)


def triangular_solved(matrix: Any, right: Any, *, lower: bool, adjoint: bool) -> Any:
    """Find what triangular matrices have to be multiplied by to give the right-hand side."""
    return linalg.solve_triangular(matrix, right, lower=lower, trans=2 if adjoint else 0)


def exponential(matrix: Any) -> Any:
    """The exponential of matrices."""
    return linalg.expm(matrix)


def convolved(
    x: Any,
    filters: Any,
    *,
    strides: Sequence[int],
    padding: Pads,
    layout: str,
    dilations: Sequence[int],
    groups: int = 1,
) -> Any:
    """Move filters over the places of tensors; filters have their places first, then channels in and channels out."""
    places = layout.replace("N", "").replace("C", "")
    numbers = lax.conv_dimension_numbers(x.shape, filters.shape, (layout, f"{places}IO", layout))
    return lax.conv_general_dilated(
        x,
        filters,
        strides,
        padding,
        rhs_dilation=dilations,
        dimension_numbers=numbers,
        feature_group_count=groups,
        precision=lax.Precision.HIGHEST,
    )


def spread(x: Any, filters: Any, *, output_shape: Sequence[int], **options: Any) -> Any:
    """The transpose of a convolution: it says how a change of what comes out came from a change of what went in."""
    convolve = functools.partial(convolved, filters=filters, **options)
    return jax.linear_transpose(convolve, jax.ShapeDtypeStruct(tuple(output_shape), x.dtype))(x)[0]


def largest_in_windows(x: Any, *, window: Sequence[int], strides: Sequence[int], padding: Pads) -> Any:
    """The maximum of each window."""
    least = -jnp.inf if jnp.issubdtype(x.dtype, jnp.floating) else jnp.iinfo(x.dtype).min
    return lax.reduce_window(x, np.asarray(least, x.dtype), lax.max, window, strides, padding)


def mean_of_windows(x: Any, *, window: Sequence[int], strides: Sequence[int], padding: Pads) -> Any:
    """The mean of what is in each window; what was added around the tensor does not count."""
    add = functools.partial(lax.reduce_window, init_value=np.asarray(0, x.dtype), computation=lax.add)
    options: dict[str, Any] = {"window_dimensions": window, "window_strides": strides, "padding": padding}
    return add(x, **options) / add(jnp.ones_like(x), **options)


def scattered(into: Any, indices: Any, updates: Any, *, how: str) -> Any:
    """Change a tensor at indices, each of which names a slice by its first numbers."""
    places = into.at[tuple(jnp.moveaxis(indices, -1, 0))]
    return getattr(places, how)(updates)


def combined_by_segment(data: Any, segments: Any, *, count: int, how: str) -> Any:
    """Combine the rows that have one number."""
    combine: Callable[..., Any] = getattr(jax.ops, f"segment_{how}")
    return combine(data, segments, num_segments=count)


def mapped(function: Callable[[Any], Any], elements: Any) -> Any:
    """Apply a function to the elements along the first dimension, in a loop of the program."""
    return lax.map(function, elements)
