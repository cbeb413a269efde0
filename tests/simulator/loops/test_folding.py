import os
import tracemalloc

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

from simulator.loops import folding
from simulator.loops.folding import _BLOCK_BYTES, _KERNELS, _NARROW_BYTES, _WIDE_BYTES, fold, fold_into
from simulator.loops.kernels import BLOCK_BYTES
from tests.children import run_python
from tests.generators import alike
from tests.thorough import examples

UFUNCS = {"sum": np.add, "min": np.minimum, "max": np.maximum}
NARROW = ["bfloat16", "float8_e4m3fn", "float8_e5m2"]
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
DTYPES = [np.dtype(name) for name in ("float16", "float32", "float64", "bool", "complex64", *INTEGERS)]
DTYPES += [np.dtype(getattr(ml_dtypes, name)) for name in NARROW]
WITH_KERNEL = [(op, dtype) for op in UFUNCS for dtype in DTYPES if (op, dtype.name) in _KERNELS]


def scalar_fold(arrays, op="sum"):
    """The oracle: combine element by element, one array after the other, rounding each time."""
    columns = zip(*[array.ravel() for array in arrays], strict=True)
    flat = np.empty(arrays[0].size, arrays[0].dtype)
    with np.errstate(all="ignore"):
        for index, (value, *others) in enumerate(columns):
            for other in others:
                value = UFUNCS[op](value, other).astype(flat.dtype)
            flat[index] = value
    return flat.reshape(arrays[0].shape)


def numpy_fold(arrays, op="sum"):
    """The oracle of large arrays."""
    total = np.array(arrays[0], order="C")
    with np.errstate(all="ignore"):
        for array in arrays[1:]:
            total = UFUNCS[op](total, array)
    return total


def any_bits(dtype, shape, count, seed):
    """Arrays of every kind of number: subnormal, infinite, NaN, close to overflow."""
    generator = np.random.default_rng(seed)
    if dtype.kind == "b":
        return [generator.random(shape) < 0.5 for _ in range(count)]
    size = int(np.prod(shape)) * dtype.itemsize
    return [np.frombuffer(generator.bytes(size), dtype).reshape(shape).copy() for _ in range(count)]


def special_values(dtype, size, count, seed):
    """Arrays of few numbers, so that infinities, zeros and NaNs of both signs meet."""
    numbers = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, -np.nan, 3e38, 65504.0, 1e-40, 6e-8, -6e-8]
    with np.errstate(all="ignore"):
        palette = np.array(numbers).astype(dtype)
    return list(np.random.default_rng(seed).choice(palette, (count, size)))


def same_bits(expected, result):
    """Compare bit by bit, but for which NaN it is: of two wide ones, numpy keeps the first or the second as it happens.

    And a scalar of 8 bits becomes a number of Python and back, on the way to which it loses its own.
    """
    wide, narrow = expected.dtype.kind in "fc" and expected.dtype.itemsize > 2, expected.dtype.name.startswith("float8")
    if wide or narrow:
        assert (np.isnan(expected) == np.isnan(result)).all()
        expected, result = (
            np.where(np.isnan(array), np.nan, array).astype(array.dtype) for array in (expected, result)
        )
    return (expected.shape, expected.dtype, expected.tobytes()) == (result.shape, result.dtype, result.tobytes())


def with_kernel(arrays, op):
    total = np.empty_like(arrays[0])
    folding._fold_with_kernel(total, arrays, _KERNELS[op, total.dtype.name][0])
    return total


@given(arrays=alike())
def test_the_sum_is_bit_equal_to_a_scalar_fold(arrays):
    assert same_bits(scalar_fold(arrays), fold(arrays))


@given(
    dtype=generators.sampled_from(DTYPES),
    op=generators.sampled_from(list(UFUNCS)),
    shape=generators.sampled_from([(), (0,), (1,), (7,), (2, 3), (3, 0, 2), (65,)]),
    count=generators.integers(1, 64),
    seed=generators.integers(0, 99),
)
def test_every_dtype_and_operation_is_bit_equal_to_a_scalar_fold(dtype, op, shape, count, seed):
    arrays = any_bits(dtype, shape, count, seed)

    assert same_bits(scalar_fold(arrays, op), fold(arrays, op=op))


@given(
    case=generators.sampled_from(WITH_KERNEL),
    size=generators.integers(0, 70),
    count=generators.integers(2, 64),
    seed=generators.integers(0, 99),
    make=generators.sampled_from([any_bits, special_values]),
)
@settings(deadline=None, max_examples=examples(25, 100))
def test_the_kernels_are_bit_equal_to_a_scalar_fold(case, size, count, seed, make):
    op, dtype = case
    arrays = make(dtype, size, count, seed) if dtype.kind != "i" else any_bits(dtype, size, count, seed)

    assert same_bits(scalar_fold(arrays, op), with_kernel(arrays, op))


@pytest.mark.parametrize(("op", "dtype"), WITH_KERNEL)
@pytest.mark.parametrize("blocks", [1, 2, 3])
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_blocks_and_threads_meet_without_a_gap(op, dtype, blocks, more):
    size = blocks * BLOCK_BYTES // dtype.itemsize + more
    for count in (2, 8, 9, 16):
        arrays = any_bits(dtype, size, count, seed=count)

        assert same_bits(numpy_fold(arrays, op), with_kernel(arrays, op))


@pytest.mark.parametrize("dtype", [dtype for op, dtype in WITH_KERNEL if op == "sum"])
def test_any_number_of_arrays_is_folded_in_one_order(dtype):
    for count in range(2, 65):
        arrays = any_bits(dtype, 100, count, seed=count)

        assert same_bits(numpy_fold(arrays), with_kernel(arrays, "sum"))


@pytest.mark.parametrize("op", UFUNCS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("smallest", [_NARROW_BYTES, _WIDE_BYTES, 8 * _BLOCK_BYTES])
def test_small_and_large_arrays_are_folded_alike(op, dtype, smallest):
    for more in (-1, 0, 1):
        arrays = any_bits(dtype, smallest // dtype.itemsize // 8 + more, 8, seed=more + 1)

        assert same_bits(numpy_fold(arrays, op), fold(arrays, op=op))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_large_arrays_are_folded_by_a_kernel(monkeypatch, dtype):
    called = []
    monkeypatch.setattr(folding, "_fold_with_kernel", lambda total, arrays, kernel: called.append(kernel))
    smallest = _KERNELS["sum", dtype][1] // 4
    fold([np.ones(smallest // np.dtype(dtype).itemsize - 1, dtype)] * 4)
    before = list(called)
    fold([np.ones(smallest // np.dtype(dtype).itemsize, dtype)] * 4)

    assert ([], [_KERNELS["sum", dtype][0]]) == (before, called)


@given(arrays=alike())
@settings(max_examples=20)
def test_the_inputs_are_left_alone(arrays):
    before = [array.tobytes() for array in arrays]
    result = fold(arrays)

    assert before == [array.tobytes() for array in arrays]
    assert not any(np.shares_memory(result, array) for array in arrays)


LARGE_SHAPE = (1 << 9, 1 << 11)


def misaligned(array):
    room = np.empty(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    room[...] = array
    return room


LAYOUTS = {
    "transposed": lambda array: np.ascontiguousarray(array.T).T,
    "strided": lambda array: np.repeat(array, 2, axis=1)[:, ::2],
    "reversed": lambda array: array[::-1, ::-1],
    "repeated": lambda array: np.broadcast_to(array[:1], array.shape),
    "misaligned": misaligned,
    "of other byte order": lambda array: array.astype(array.dtype.newbyteorder()),
}


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64"])
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_array_of_another_layout_is_added_right(dtype, layout, first):
    arrays = [np.random.default_rng(seed).integers(0, 99, LARGE_SHAPE).astype(dtype) for seed in range(3)]
    arrays[0 if first else 2] = LAYOUTS[layout](arrays[0 if first else 2])
    result = fold(arrays)

    assert arrays[0].dtype == result.dtype
    assert result.flags.c_contiguous
    np.testing.assert_array_equal(arrays[0] + arrays[1] + arrays[2], result)


@pytest.mark.parametrize("layout", [None, "transposed", "strided"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8"])
def test_no_more_memory_is_taken_than_for_the_result(dtype, layout):
    arrays = [np.ones(LARGE_SHAPE, dtype) for _ in range(12)]
    arrays = [LAYOUTS[layout](array) for array in arrays] if layout else arrays
    fold(arrays)
    tracemalloc.start()
    try:
        result = fold(arrays)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    # Two blocks for each thread, and some Python.
    assert peak < result.nbytes + 2 * BLOCK_BYTES * (os.cpu_count() or 1) + (1 << 16)


def test_an_overflow_is_silent_in_small_and_in_large_arrays():
    for size in (1, _WIDE_BYTES):
        assert np.isinf(fold([np.full(size, 6e4, np.float16)] * 2)).all()
    assert np.isinf(fold([np.float32(3e38).reshape(())] * 2))


def test_arrays_are_folded_into_one_that_exists():
    total = np.full((2, 1 << 20), np.nan, np.float32)
    fold_into(total, [np.full(total.shape, index, np.float32) for index in range(3)], op="max")

    assert (total == 2).all()


def test_one_array_is_copied():
    array = np.arange(3.0)
    result = fold([array])
    result[0] = 9

    assert 0 == array[0]


@pytest.mark.parametrize("array", [np.float32(1).reshape(()), np.ones(3)])
def test_an_unknown_operation_is_an_error_that_names_the_known_ones(array):
    with pytest.raises(ValueError, match=r"op='mean'.*'max', 'min', 'sum'"):
        fold([array, array], op="mean")


def run(program, **environment):
    """Run a program in a process of its own, because what it tries could end it."""
    return run_python(program, **environment).returncode


LARGE = """
import numpy as np, os, threading
from simulator import fold
large = [np.ones(1 << 20, np.float32)] * 6
assert fold(large)[5] == 6
"""
FORK = """
child = os.fork()
if child == 0:
    os._exit(0 if fold(large)[5] == 6 else 1)
assert os.waitpid(child, 0)[1] == 0
"""
THREADS = """
threads = [threading.Thread(target=fold, args=(large,)) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
EXTREMES = """
import numpy as np
from simulator import fold
large = [np.full(1 << 18, value, np.float32) for value in range(8)]
for op in {operations!r}:
    assert fold(large, op=op)[5] == {{"sum": 28, "min": 0, "max": 7}}[op], op
"""


def test_a_forked_process_can_still_add_large_arrays():
    assert 0 == run(LARGE + FORK)


@pytest.mark.parametrize("layer", ["workqueue", "default"])
def test_several_threads_can_add_large_arrays_at_once(layer):
    assert 0 == run(LARGE + THREADS, NUMBA_THREADING_LAYER=layer)


def test_kernels_that_were_compiled_by_different_processes_are_not_confused(tmp_path):
    for operations in (["min"], ["max"], ["min", "max"]):
        assert 0 == run(EXTREMES.format(operations=operations), NUMBA_CACHE_DIR=str(tmp_path))
