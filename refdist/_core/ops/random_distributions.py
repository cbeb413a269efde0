"""`tf.random.gamma` and its like: distributions whose numbers are found by trying.

The numbers are TensorFlow's wherever there are floats of 64 bits, in which it computes; in programs of JAX without these they are
others of the same distribution.
"""

import math
from typing import Any

import numpy as np

from refdist._core.base import rejection_sampling
from refdist._core.base.dtypes import numpy_dtype
from refdist._core.base.errors import DtypeError, InvalidArgumentError
from refdist._core.base.jax_facts import is_tracer
from refdist._core.ops.computed_with_jax import kernel
from refdist._core.ops.operation_table import beside
from refdist._core.ops.random_numbers import BLOCKS, drawn_from, known, of_seeds, placed, room
from refdist._core.ops.tensor_functions import cast, convert_to_tensor, sizes_of


def gamma(
    shape: Any, alpha: Any, beta: Any = None, dtype: Any = "float32", seed: int | None = None, name: Any = None
) -> Any:
    """Draw numbers of gamma distributions: so many of the given shape for each alpha."""
    return _gamma(drawn_from("gamma", seed), alpha, beta, dtype, lambda own: sizes_of(shape))


def stateless_gamma(
    shape: Any,
    seed: Any,
    alpha: Any,
    beta: Any = None,
    dtype: Any = "float32",
    alg: Any = "auto_select",
    name: Any = None,
) -> Any:
    """Draw the numbers of gamma distributions that belong to two seeds; the shape ends with that of alpha."""
    return _gamma(of_seeds(seed, alg), alpha, beta, dtype, lambda own: _before("stateless_gamma", shape, own))


def poisson(shape: Any, lam: Any, dtype: Any = "float32", seed: int | None = None, name: Any = None) -> Any:
    """Draw numbers of Poisson distributions: so many of the given shape for each rate."""
    return _drawn(drawn_from("poisson", seed), sizes_of(shape), [convert_to_tensor(lam)], _poisson, dtype)


def stateless_poisson(shape: Any, seed: Any, lam: Any, dtype: Any = "int32", name: Any = None) -> Any:
    """Draw the numbers of Poisson distributions that belong to two seeds; the shape ends with that of the rates."""
    rates = convert_to_tensor(lam)
    first = _before("stateless_poisson", shape, rates.shape)
    return _drawn(of_seeds(seed, "auto_select"), first, [rates], _poisson, dtype)


def stateless_binomial(
    shape: Any, seed: Any, counts: Any, probs: Any, output_dtype: Any = "int32", name: Any = None
) -> Any:
    """Draw the numbers of binomial distributions that belong to two seeds: how often something probable happens."""
    return binomial_from(of_seeds(seed, "auto_select"), shape, counts, probs, output_dtype)


def binomial_from(draw: Any, shape: Any, counts: Any, probs: Any, dtype: Any) -> Any:
    """Numbers of binomial distributions of a stream; the shape ends with that of counts and probabilities together."""
    numbers, shares = convert_to_tensor(counts), convert_to_tensor(probs)
    whole = np.broadcast_shapes(numbers.shape, shares.shape)
    first = _before("binomial", shape, whole)
    reserved = math.prod(whole) * 200 * (math.prod(first) + 3) // 4
    return _drawn(draw, first, [numbers, shares], rejection_sampling.binomial, dtype, reserved)


def _gamma(draw: Any, alpha: Any, beta: Any, dtype: Any, first: Any) -> Any:
    kind = numpy_dtype(dtype)
    if kind.kind not in "fV":
        raise DtypeError(f"gamma() got dtype={kind.name}; expected floats. Use tf.cast() afterwards.")
    scale = beside(1 if beta is None else beta, room(kind))
    alphas = beside(alpha, room(kind)) + scale * 0
    drawn = _drawn(draw, first(alphas.shape), [alphas], rejection_sampling.gamma, kind) / scale
    return drawn.__array_namespace__().maximum(drawn, np.finfo(np.float32).tiny)


def _before(method: str, shape: Any, own: Any) -> tuple[int, ...]:
    """What a shape has before that of the parameters."""
    sizes, own = sizes_of(shape), tuple(own)
    if sizes[len(sizes) - len(own) :] != own:
        raise InvalidArgumentError(
            f"{method}() got shape={sizes} for parameters of shape {own}; expected one that ends with theirs. Append it."
        )
    return sizes[: len(sizes) - len(own)]


def _drawn(
    draw: Any, first: tuple[int, ...], parameters: Any, sample: Any, dtype: Any, reserved: int | None = None
) -> Any:
    """So many numbers for each place of the parameters; those of one place are drawn one after the other."""
    whole, kind = np.broadcast_shapes(*(one.shape for one in parameters)), room(np.dtype(np.float64))
    count, times = math.prod(whole) * math.prod(first), math.prod(first)
    given = draw((count if reserved is None else reserved) * BLOCKS, numpy_dtype(dtype))
    traced = [one for one in (*given, *parameters) if is_tracer(one)]
    arrays = traced[0].__array_namespace__() if traced else np

    def each(parameter: Any) -> Any:
        array = parameter if traced else known(parameter)
        return arrays.repeat(arrays.broadcast_to(array, whole).reshape(-1), times).astype(kind)

    found = placed(sample(given, *map(each, parameters)), (*whole, *first))
    axes = [*range(len(whole), len(whole) + len(first)), *range(len(whole))]
    return cast(found.__array_namespace__().transpose(found, axes), room(numpy_dtype(dtype)))


def _poisson(given: Any, rate: Any) -> Any:
    def log_gamma(x: Any) -> Any:
        return kernel("lgamma", x) if is_tracer(x) else np.array([math.lgamma(one) for one in x.tolist()])

    return rejection_sampling.poisson(given, rate, log_gamma)
