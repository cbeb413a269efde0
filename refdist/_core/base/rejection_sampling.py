"""Numbers of distributions that are found by trying: gamma, Poisson and binomial, as TensorFlow finds them.

Each number has so many blocks of a stream to draw from. A trial takes uniform or normal numbers, two of which a block becomes; so
which block a trial uses depends on what the earlier ones took. All numbers are tried at once, with a mask of those that go on.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from refdist._core.base.jax_facts import is_tracer, repeated
from refdist._core.base.philox import Stream, encrypted, normal_pair, uniform_pair

_BLOCKS = 256  # for each number, unless told otherwise
# In a program, where it is not known when all have a number: trials of which one in seven fails at most, or that count to thirty.
_TRIES, _COUNTS = 20, 48

# The error of Stirling's formula for the logarithm of the first factorials.
_TAILS = (
    *(0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211),
    *(0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287),
)

Trial = Callable[["_Draws", Any, Any, Any], tuple[Any, Any, Any]]


class _Draws:
    """Uniform and normal numbers, one for each place that a mask has; the last of a pair is taken first."""

    def __init__(self, given: Stream, starts: Any, dtype: Any, state: Any) -> None:
        self._given, self._starts, self._dtype = given, starts, dtype
        self.state = list(state)  # the next block; then, twice: how many of a pair are left, the first, the second

    def uniform(self, wanted: Any) -> Any:
        return self._taken(wanted, 1, uniform_pair)

    def normal(self, wanted: Any) -> Any:
        return self._taken(wanted, 4, normal_pair)

    def _taken(self, wanted: Any, place: int, pair: Callable[[Any, Any], Any]) -> Any:
        block, (left, first, second) = self.state[0], self.state[place : place + 3]
        arrays = wanted.__array_namespace__()
        new = wanted & (left == 0)
        drawn = pair(encrypted(self._given, self._starts + block), self._dtype)
        first, second = arrays.where(new, drawn[..., 0], first), arrays.where(new, drawn[..., 1], second)
        left = arrays.where(new, np.uint32(2), left) - wanted.astype(np.uint32)
        self.state[0], self.state[place : place + 3] = block + new.astype(np.uint32), [left, first, second]
        return arrays.where(left == 1, second, first)


def sampled(given: Stream, going: Any, memory: Any, trial: Trial, most: int = _TRIES, blocks: int = _BLOCKS) -> Any:
    """Try until there is a number in each place that a mask has; zero in the others.

    Args:
        memory: floats, of the dtype in which all is computed.
        trial: gets draws, a mask, its memory and how many trials failed; returns what it accepts, the numbers and its memory.
        most: how many trials a program makes.
        blocks: of the stream, for each number.
    """
    dtype, starts = memory.dtype, np.arange(memory.shape[0], dtype=np.uint32) * np.uint32(blocks)
    nothing = going & (given[0] ^ given[0] ^ given[2] ^ given[2] != 0)  # whatever the words vary over, the state has to
    zeros, none = nothing.astype(dtype), nothing.astype(np.uint32)
    state = (none, none, zeros, zeros, none, zeros, zeros, going ^ nothing, zeros, memory + zeros, zeros)

    def step(state: Any) -> Any:
        *drawn, now, found, kept, failed = state
        draws, arrays = _Draws(given, starts, dtype, drawn), now.__array_namespace__()
        with np.errstate(all="ignore"):  # in places where there is nothing to find any more
            accepted, number, after = trial(draws, now, kept, failed)
        new = arrays.where(accepted & now, number, found), arrays.where(now, after, kept)
        return (*draws.state, now & ~accepted, *(one.astype(dtype) for one in new), failed + dtype.type(1))

    if is_tracer(none):
        return repeated(most, step, state)[-3]
    while state[-4].any():
        state = step(state)
    return state[-3]


def gamma(given: Stream, alpha: Any) -> Any:
    """Numbers of the gamma distribution, by the method of Marsaglia and Tsang; exponential ones where alpha is one."""
    arrays, small, exponential = alpha.__array_namespace__(), alpha < 1, alpha == 1
    d = arrays.where(small, alpha + 2 / 3, alpha - 1 / 3)
    c = (1 / 3) / arrays.sqrt(d)

    def trial(draws: _Draws, going: Any, memory: Any, failed: Any) -> Any:
        x = draws.normal(going & ~exponential)
        v = 1 + c * x
        possible = going & ~exponential & (v > 0)
        v = v * v * v
        u = draws.uniform(possible | (going & exponential))
        exact = arrays.log(u) < 0.5 * x * x + d * (1 - v + arrays.log(v))
        accepted = possible & ((u < 1 - 0.0331 * (x * x) * (x * x)) | exact)
        share = draws.uniform(accepted & small)
        number = d * v * arrays.where(small, share ** (1 / alpha), 1)
        return accepted | exponential, arrays.where(exponential, -arrays.log1p(-u), number), memory

    return sampled(given, alpha == alpha, alpha, trial)


def poisson(given: Stream, rate: Any, log_gamma: Callable[[Any], Any]) -> Any:
    """Numbers of the Poisson distribution: products of uniform numbers for a small rate, else the method of Hörmann."""
    arrays, small = rate.__array_namespace__(), rate < 10
    b = 0.931 + 2.53 * arrays.sqrt(rate)
    a = -0.059 + 0.02483 * b
    scale = 1.1239 + 1.1328 / (b - 3.4)

    def few(draws: _Draws, going: Any, product: Any, failed: Any) -> Any:
        product = product * draws.uniform(going)
        return product <= arrays.exp(-rate), failed, product

    def many(draws: _Draws, going: Any, memory: Any, failed: Any) -> Any:
        u, v = draws.uniform(going) - 0.5, draws.uniform(going)
        inside = 0.5 - abs(u)
        k = arrays.floor((2 * a / inside + b) * u + rate + 0.43)
        s = arrays.log(v * scale / (a / (inside * inside) + b))
        exact = s <= -rate + k * arrays.log(rate) - log_gamma(arrays.maximum(k, 0) + 1)
        possible = (k >= 0) & ((inside >= 0.013) | (v <= inside))
        return ((inside >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2))) | (possible & exact), k, memory

    return sampled(given, small, rate * 0 + 1, few, _COUNTS) + sampled(given, ~small, rate, many)


def binomial(given: Stream, count: Any, probability: Any) -> Any:
    """Numbers of the binomial distribution: sums of geometric numbers where few are expected, else the method of Hörmann."""
    arrays, swapped = count.__array_namespace__(), probability > 0.5
    p = arrays.where(swapped, 1 - probability, probability)
    small = count * p < 10
    spread = arrays.sqrt(count * p * (1 - p))
    b = 1.15 + 2.53 * spread
    a, c = -0.0873 + 0.0248 * b + 0.01 * p, count * p + 0.5
    odds, middle = p / (1 - p), arrays.floor((count + 1) * p)

    def few(draws: _Draws, going: Any, left: Any, failed: Any) -> Any:
        left = left - arrays.ceil(arrays.log(draws.uniform(going)) / arrays.log1p(-p))
        return (left < 0) | (p <= 0) | (count <= 0), failed, left

    def many(draws: _Draws, going: Any, memory: Any, failed: Any) -> Any:
        u, v = draws.uniform(going) - 0.5, draws.uniform(going)
        inside = 0.5 - abs(u)
        k = arrays.floor((2 * a / inside + b) * u + c)
        s = arrays.log(v * (2.83 + 5.1 / b) * spread / (a / (inside * inside) + b))
        bound = (middle + 0.5) * arrays.log((middle + 1) / (odds * (count - middle + 1)))
        bound = bound + (count + 1) * arrays.log((count - middle + 1) / (count - k + 1))
        bound = bound + (k + 0.5) * arrays.log(odds * (count - k + 1) / (k + 1))
        bound = bound + _tail(middle) + _tail(count - middle) - _tail(k) - _tail(count - k)
        return ((inside >= 0.07) & (v <= 0.92 - 4.2 / b)) | ((k >= 0) & (k <= count) & (s <= bound)), k, memory

    found = sampled(given, small, count, few, _COUNTS, blocks=42) + sampled(given, ~small, count, many)
    return arrays.where(swapped, count - found, found)


def _tail(k: Any) -> Any:
    arrays, square = k.__array_namespace__(), (k + 1) * (k + 1)
    listed = arrays.take(arrays.asarray(_TAILS, dtype=k.dtype), arrays.clip(k, 0, 9).astype(np.int32))
    return arrays.where(k <= 9, listed, (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1))
