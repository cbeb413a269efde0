# pyright: basic, reportCallIssue=false, reportPrivateImportUsage=false
"""Numba loops over plain arrays: no objects, no options.

A kernel folds any number of arrays, given by their addresses, into one: `fold_sum(total, addresses)`. Each array is read
once and the total written once, block by block. Up to eight arrays are combined in one loop; what more of them need between
two loops stays in the cache. Narrow floats come as the integers of their bits.
"""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

BLOCK_BYTES = 1 << 17  # Long enough for the stream of an array to run at full speed, short enough for the L2 cache.

Jitted = Callable[..., Any]

_SIXTEEN, _ONE, _BELOW_HALF = np.uint32(16), np.uint32(1), np.uint32(0x7FFF)
_SIGN, _QUIET_NAN = np.uint32(0x80000000), np.uint32(0x7FC00000)
_INFINITE_FLOAT16, _INFINITE_BFLOAT16 = np.uint16(0x7C00), np.uint16(0x7F80)


# The kernels are written out, because numba caches on disk only functions at the top level of a module.
@numba.njit(parallel=True, cache=True)
def fold_sum(total: Any, addresses: Any) -> None:
    block = BLOCK_BYTES // total.itemsize
    for index in numba.prange((total.size + block - 1) // block):
        _sum_block(total, addresses, index * block, min(index * block + block, total.size))


@numba.njit(parallel=True, cache=True)
def fold_min(total: Any, addresses: Any) -> None:
    block = BLOCK_BYTES // total.itemsize
    for index in numba.prange((total.size + block - 1) // block):
        _min_block(total, addresses, index * block, min(index * block + block, total.size))


@numba.njit(parallel=True, cache=True)
def fold_max(total: Any, addresses: Any) -> None:
    block = BLOCK_BYTES // total.itemsize
    for index in numba.prange((total.size + block - 1) // block):
        _max_block(total, addresses, index * block, min(index * block + block, total.size))


@numba.njit(parallel=True, cache=True)
def fold_sum_float16(total: Any, addresses: Any) -> None:
    block = BLOCK_BYTES // total.itemsize
    for index in numba.prange((total.size + block - 1) // block):
        start, stop = index * block, min(index * block + block, total.size)
        _sum_float16_block(total, addresses, start, stop)
        if _any_exceeds(total[start:stop], _INFINITE_FLOAT16):
            _sum_float16_block_minding_nans(total, addresses, start, stop)


@numba.njit(parallel=True, cache=True)
def fold_sum_bfloat16(total: Any, addresses: Any) -> None:
    block = BLOCK_BYTES // total.itemsize
    for index in numba.prange((total.size + block - 1) // block):
        start, stop = index * block, min(index * block + block, total.size)
        _sum_bfloat16_block(total, addresses, start, stop)
        if _any_exceeds(total[start:stop], _INFINITE_BFLOAT16):
            _sum_bfloat16_block_minding_nans(total, addresses, start, stop)


@intrinsic
def _pointer(_: Any, address: Any, like: Any) -> Any:
    pointer = types.CPointer(like.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(pointer))

    return pointer(address, like), generate


@intrinsic
def _float_of_float16(_: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fpext(builder.bitcast(arguments[0], ir.HalfType()), ir.FloatType())

    return types.float32(types.uint16), generate


@intrinsic
def _float16_of_float(_: Any, value: Any) -> Any:
    # A float has more than twice the digits of a float16, so rounding a sum twice gives what rounding once gives.
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(builder.fptrunc(arguments[0], ir.HalfType()), ir.IntType(16))

    return types.uint16(types.float32), generate


@intrinsic
def _float_of_bits(_: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.uint32), generate


@intrinsic
def _bits_of_float(_: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(32))

    return types.uint32(types.float32), generate


@intrinsic
def _larger_magnitude(_: Any, largest: Any, bits: Any) -> Any:
    # Numba's own integers are of 64 bits as soon as they are combined, so that a fourth as many fit into a vector.
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        magnitude = builder.and_(arguments[1], ir.IntType(16)(0x7FFF))
        return builder.select(builder.icmp_unsigned(">", magnitude, arguments[0]), magnitude, arguments[0])

    return types.uint16(types.uint16, types.uint16), generate


@numba.njit
def _any_exceeds(bits: Any, infinite: Any) -> Any:
    largest = np.uint16(0)
    for i in range(bits.size):
        largest = _larger_magnitude(largest, bits[i])
    return largest > infinite


@numba.njit
def _float_of_bfloat16(bits: Any) -> Any:
    return _float_of_bits(np.uint32(bits) << _SIXTEEN)


@numba.njit
def _bfloat16_of_sum(value: Any) -> Any:
    # To the nearest, ties to even. The lower half of a NaN is zero, because those of the summands are, so it stays a NaN.
    bits = _bits_of_float(value)
    return np.uint16(np.uint32(bits + _BELOW_HALF + ((bits >> _SIXTEEN) & _ONE)) >> _SIXTEEN)


@numba.njit
def _bfloat16_of_sum_minding_nans(value: Any) -> Any:
    # ml_dtypes makes one NaN of either sign.
    nan = np.uint16((_QUIET_NAN | (_bits_of_float(value) & _SIGN)) >> _SIXTEEN)
    return nan if value != value else _bfloat16_of_sum(value)


@numba.njit
def _same(value: Any) -> Any:
    return value


@numba.njit
def _add(a: Any, b: Any) -> Any:
    return a + b


@numba.njit
def _add_minding_nans(a: Any, b: Any) -> Any:
    # Of two NaNs, numpy and ml_dtypes keep the second in the narrow dtypes; adding it to itself makes it quiet.
    return b + (b if b != b else a)


@numba.njit
def _least(a: Any, b: Any) -> Any:
    return a if a < b or a != a else b


@numba.njit
def _greatest(a: Any, b: Any) -> Any:
    return a if a > b or a != a else b


@numba.njit
def _part(total: Any, address: Any, start: int, stop: int) -> Any:
    return numba.carray(_pointer(address + np.uint64(start * total.itemsize), total), stop - start)


def _blocks(name: str, widen: Jitted, combine: Jitted, narrow: Jitted, *, most: int) -> Any:
    """Make the loop over one block, which combines its source with `most`, three or one further arrays at a time."""

    def fold_block(total: Any, addresses: Any, start: int, stop: int) -> None:
        size, count = stop - start, addresses.size
        one_loop = count == most + 1 or count == 4 or count == 2
        spared = 0 if one_loop else size  # what a loop leaves to the next one
        spare, next_spare = np.empty(spared, total.dtype), np.empty(spared, total.dtype)
        source = _part(total, addresses[0], start, stop)
        done = 1
        while done < count:
            left = count - done
            taken = most if left >= most else (3 if left >= 3 else 1)
            # Never the source itself, because a loop whose arrays overlap is not vectorised.
            target = total[start:stop] if taken == left else spare
            b = _part(total, addresses[done], start, stop)
            if taken == 1:
                for i in range(size):
                    target[i] = narrow(combine(widen(source[i]), widen(b[i])))
            else:
                c = _part(total, addresses[done + 1], start, stop)
                d = _part(total, addresses[done + 2], start, stop)
                if taken == 3:
                    for i in range(size):
                        value = narrow(combine(widen(source[i]), widen(b[i])))
                        value = narrow(combine(widen(value), widen(c[i])))
                        target[i] = narrow(combine(widen(value), widen(d[i])))
                else:
                    e = _part(total, addresses[done + 3], start, stop)
                    f = _part(total, addresses[done + 4], start, stop)
                    g = _part(total, addresses[done + 5], start, stop)
                    h = _part(total, addresses[done + 6], start, stop)
                    for i in range(size):
                        value = narrow(combine(widen(source[i]), widen(b[i])))
                        value = narrow(combine(widen(value), widen(c[i])))
                        value = narrow(combine(widen(value), widen(d[i])))
                        value = narrow(combine(widen(value), widen(e[i])))
                        value = narrow(combine(widen(value), widen(f[i])))
                        value = narrow(combine(widen(value), widen(g[i])))
                        target[i] = narrow(combine(widen(value), widen(h[i])))
            source, done = target, done + taken
            spare, next_spare = next_spare, spare

    return _jitted(fold_block, name)


def _plain_blocks(name: str, widen: Jitted, combine: Jitted, narrow: Jitted) -> Any:
    """Make the loop over one block that combines one array at a time: slower, but sooner compiled."""

    def fold_block(total: Any, addresses: Any, start: int, stop: int) -> None:
        target = total[start:stop]
        other = _part(total, addresses[0], start, stop)
        for i in range(target.size):
            target[i] = other[i]
        for index in range(1, addresses.size):
            other = _part(total, addresses[index], start, stop)
            for i in range(target.size):
                target[i] = narrow(combine(widen(target[i]), widen(other[i])))

    return _jitted(fold_block, name)


def _jitted(function: Jitted, name: str) -> Any:
    # Two functions of one name, kept on disk by two processes, would be taken for the same one by a third.
    function.__qualname__ = name
    return numba.njit(function)


_sum_block = _blocks("_sum_block", _same, _add, _same, most=7)
_min_block = _blocks("_min_block", _same, _least, _same, most=7)
_max_block = _blocks("_max_block", _same, _greatest, _same, most=7)

# Rounding takes many instructions: with fewer of them in a loop the processor looks further ahead, and waits less for memory.
_sum_float16_block = _blocks("_sum_float16_block", _float_of_float16, _add, _float16_of_float, most=3)
_sum_bfloat16_block = _blocks("_sum_bfloat16_block", _float_of_bfloat16, _add, _bfloat16_of_sum, most=3)

# To know which NaN numpy would give costs a fifth of the time, so blocks are done again where there are any.
_sum_float16_block_minding_nans = _plain_blocks(
    "_sum_float16_block_minding_nans", _float_of_float16, _add_minding_nans, _float16_of_float
)
_sum_bfloat16_block_minding_nans = _plain_blocks(
    "_sum_bfloat16_block_minding_nans", _float_of_bfloat16, _add_minding_nans, _bfloat16_of_sum_minding_nans
)
