"""Random numbers that are a function of a key and a counter: Philox 4x32 of ten rounds, and what TensorFlow makes of its words.

All of this works on arrays of numpy and, in a program that is being written, on those of JAX; so a stream has the same numbers
everywhere. A stream is six words of 32 bits: two of the key, then four of the counter, the lowest first.
"""

import functools
import operator
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from refdist._core.base.jax_facts import is_tracer, repeated

Stream: TypeAlias = tuple[Any, ...]

_WORD = np.uint32
_MULTIPLIERS = (_WORD(0xD2511F53), _WORD(0xCD9E8D57))
_STEPS = (_WORD(0x9E3779B9), _WORD(0xBB67AE85))  # of the key, from round to round
_SCRAMBLE = (
    _WORD(0x3EC8F720),
    _WORD(0x02461E29),
)  # the key under which the two seeds of a stateless operation are mixed
_RESERVED = 256  # words for each number of a distribution that may reject some
_TRIES = 6  # blocks of four candidates for truncated numbers; fewer than four of them are accepted once in 1e25

# How many bits of a word become the digits of a float.
_DIGITS = {"float16": 10, "bfloat16": 7, "float32": 23}


def stream(key: int, counter: int, above: int = 0) -> Stream:
    """The stream of a key of 64 bits and a counter of 128, given as two integers.

    >>> [int(word) for word in stream(1 << 32, 5, above=7)]
    [0, 1, 5, 0, 7, 0]
    """
    return tuple(word for number in (key, counter, above) for word in words_of(number))


def words_of(number: int) -> tuple[np.uint32, np.uint32]:
    """The two words of an integer, negative ones too."""
    return _WORD(number & 0xFFFFFFFF), _WORD(number >> 32 & 0xFFFFFFFF)


def scrambled(seeds: Sequence[Any]) -> Stream:
    """The stream of the two seeds of a stateless operation, given as four words."""
    mixed = encrypted((*_SCRAMBLE, *seeds), np.zeros((), _WORD))
    return (mixed[..., 0], mixed[..., 1], _WORD(0), _WORD(0), mixed[..., 2], mixed[..., 3])


def skipped(given: Stream, times: Any, step: int = 1) -> Stream:
    """The same stream after so many times a step of blocks."""
    high, low = _product(times, _WORD(step))
    with np.errstate(over="ignore"):
        return (*given[:2], *_added(given[2:], low, high))


def encrypted(given: Stream, offsets: Any) -> Any:
    """The blocks of four words at some distances from the beginning of a stream."""
    with np.errstate(over="ignore"):  # all of this is meant to wrap around
        state = (*given[:2], *_added(given[2:], offsets, _WORD(0)))
        if any(map(is_tracer, state)):
            # A loop is traced in a third of the time of ten rounds. In it all words have one shape, and vary alike over replicas.
            nothing = functools.reduce(operator.xor, state) & _WORD(0)
            state = repeated(10, _round, tuple(word ^ nothing for word in state))
        else:
            for _ in range(10):
                state = _round(state)
    return _arrays(state[2]).stack(state[2:], axis=-1)


def _round(state: Stream) -> Stream:
    first, second, *counter = state
    high0, low0 = _product(counter[0], _MULTIPLIERS[0])
    high1, low1 = _product(counter[2], _MULTIPLIERS[1])
    mixed = (high1 ^ counter[1] ^ first, low1, high0 ^ counter[3] ^ second, low0)
    return (first + _STEPS[0], second + _STEPS[1], *mixed)


def words(given: Stream, count: int) -> Any:
    """The first words of a stream."""
    return encrypted(given, np.arange(-(-count // 4), dtype=_WORD)).reshape(-1)[:count]


def uniform(given: Stream, count: int, dtype: np.dtype[Any]) -> Any:
    """Floats from zero up to one."""
    if dtype == np.float64:
        return _doubles(words(given, 2 * count).reshape(-1, 2))
    return _floats(words(given, count), dtype)


def normal(given: Stream, count: int, dtype: np.dtype[Any]) -> Any:
    """Floats whose mean is zero and whose variance is one."""
    if dtype == np.float64:
        return _bell(words(given, -(-count // 2) * 4).reshape(-1, 4), dtype).reshape(-1)[:count]
    pairs = words(given, -(-count // 2) * 2).reshape(-1, 2)
    return _bell(pairs, np.dtype(np.float32)).reshape(-1)[:count].astype(dtype)


def truncated_normal(given: Stream, count: int, dtype: np.dtype[Any]) -> Any:
    """The same, but what is beyond two is drawn again: each group of numbers has words of its own to draw from."""
    wide, size = dtype == np.float64, 2 if dtype == np.float64 else 4
    groups = -(-count // size)
    starts = np.arange(groups, dtype=_WORD)[:, None] * _WORD(size * _RESERVED // 4)
    blocks = encrypted(given, starts + np.arange(_TRIES * (2 if wide else 1), dtype=_WORD))
    kind = dtype if wide else np.dtype(np.float32)
    candidates = _bell(blocks.reshape(groups, -1, 4 if wide else 2), kind).reshape(groups, -1)
    refused = abs(candidates) >= 2
    order = _arrays(candidates).argsort(refused, axis=-1, stable=True)[:, :size]
    return _arrays(candidates).take_along_axis(candidates, order, axis=-1).reshape(-1)[:count].astype(dtype)


def integers(given: Stream, count: int, dtype: np.dtype[Any], low: Any, high: Any) -> Any:
    """Integers from low up to high, by the rest of a division; without these, of all values that the dtype has."""
    raw = whole(given, count, np.dtype(f"uint{dtype.itemsize * 8}"))
    if low is None:
        return raw.astype(dtype)
    with np.errstate(over="ignore"):
        least = _arrays(raw).asarray(low).astype(raw.dtype)
        spread = _arrays(raw).asarray(high).astype(raw.dtype) - least
        return (least + raw % spread).astype(dtype)


def whole(given: Stream, count: int, dtype: np.dtype[Any]) -> Any:
    """Unsigned integers of 32 or 64 bits."""
    if dtype.itemsize == 4:
        return words(given, count)
    pairs = words(given, 2 * count).reshape(-1, 2).astype(np.uint64)
    return pairs[:, 0] | pairs[:, 1] << np.uint64(32)


def permutation(given: Stream, count: int) -> Any:
    """An order of so many things: each place in turn is exchanged with one behind it."""
    order = np.arange(count)
    if count < 2:
        return order
    places, drawn = order[:-1].astype(_WORD), words(given, count - 1)
    others = places + drawn % (_WORD(count) - places)
    if is_tracer(others):
        nothing = others[0] & _WORD(0)  # whatever it varies over, the order has to
        return repeated(count - 1, _exchanged, (order.astype(_WORD) ^ nothing, others, nothing))[0]
    for place, other in enumerate(others.tolist()):
        order[[place, other]] = order[[other, place]]
    return order


def _exchanged(state: Any) -> Any:
    order, others, place = state
    other = others[place]
    return order.at[place].set(order[other]).at[other].set(order[place]), others, place + _WORD(1)


def _floats(drawn: Any, dtype: np.dtype[Any]) -> Any:
    digits = _DIGITS[dtype.name]
    return (drawn & _WORD((1 << digits) - 1)).astype(dtype) * dtype.type(2.0**-digits)


def _doubles(pairs: Any) -> Any:
    high, low = (pairs[..., 0] & _WORD(0xFFFFF)).astype(np.float64), pairs[..., 1].astype(np.float64)
    return high * np.float64(2.0**-20) + low * np.float64(2.0**-52)


def uniform_pair(block: Any, dtype: np.dtype[Any]) -> Any:
    """Two floats from a block of four words."""
    return _doubles(block.reshape(*block.shape[:-1], 2, 2)) if dtype == np.float64 else _floats(block[..., ::2], dtype)


def normal_pair(block: Any, dtype: np.dtype[Any]) -> Any:
    """Two floats of the normal distribution from a block of four words."""
    return _bell(block if dtype == np.float64 else block[..., ::2], dtype)


def _bell(drawn: Any, dtype: np.dtype[Any]) -> Any:
    """Two numbers of the normal distribution from two uniform ones, by the method of Box and Muller."""
    if dtype == np.float64:
        radius, angle = _doubles(drawn[..., :2]), _doubles(drawn[..., 2:])
    else:
        radius, angle = _floats(drawn[..., 0], dtype), _floats(drawn[..., 1], dtype)
    arrays = _arrays(radius)
    length = arrays.sqrt(dtype.type(-2) * arrays.log(arrays.maximum(radius, dtype.type(1e-7))))
    angle = dtype.type(2 * np.pi) * angle
    return arrays.stack([arrays.sin(angle) * length, arrays.cos(angle) * length], axis=-1)


def _added(counter: Stream, low: Any, high: Any) -> Stream:
    """A counter plus 64 bits."""
    first = counter[0] + low
    carry = (first < low).astype(_WORD)
    second = counter[1] + high
    over = second < high
    second = second + carry
    carry = (over | ((carry == 1) & (second == 0))).astype(_WORD)
    third = counter[2] + carry
    carry = ((carry == 1) & (third == 0)).astype(_WORD)
    return first, second, third, counter[3] + carry


def _product(x: Any, y: np.uint32) -> tuple[Any, Any]:
    """The high and the low word of a product; JAX may have no room for both in one number."""
    if isinstance(x, (np.ndarray, np.generic)):
        product = x.astype(np.uint64) * np.uint64(y)
        return (product >> np.uint64(32)).astype(_WORD), product.astype(_WORD)
    half, low_half = _WORD(16), _WORD(0xFFFF)
    low, high, own_low, own_high = x & low_half, x >> half, y & low_half, y >> half
    middle = high * own_low + (low * own_low >> half)
    rest = low * own_high + (middle & low_half)
    return high * own_high + (middle >> half) + (rest >> half), x * y


def _arrays(x: Any) -> Any:
    return x.__array_namespace__() if hasattr(x, "__array_namespace__") else np
