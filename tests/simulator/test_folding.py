import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings

from simulator.folding import _KERNEL_BYTES, fold
from tests.generators import alike


def scalar_fold(arrays):
    """The oracle: add element by element, one array after the other, rounding each time."""
    total = arrays[0].copy()
    for array in arrays[1:]:
        flat = [(one + other).astype(array.dtype) for one, other in zip(total.ravel(), array.ravel(), strict=True)]
        total = np.array(flat, dtype=array.dtype).reshape(array.shape)
    return total


@given(arrays=alike())
def test_the_sum_is_bit_equal_to_a_scalar_fold(arrays):
    expected, result = scalar_fold(arrays), fold(arrays)

    assert expected.dtype == result.dtype
    assert expected.shape == result.shape
    assert expected.tobytes() == result.tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("count", [1, 2, 4, 5, 6, 9])
def test_the_kernels_give_the_bits_of_the_plain_loop(dtype, count):
    size = _KERNEL_BYTES // np.dtype(dtype).itemsize + 3
    generator = np.random.default_rng(count)
    arrays = [(generator.standard_normal(size) * 1e3).astype(dtype) for _ in range(count)]
    expected = arrays[0].copy()
    for array in arrays[1:]:
        expected = expected + array

    assert expected.tobytes() == fold(arrays).tobytes()


@given(arrays=alike())
@settings(max_examples=20)
def test_the_inputs_are_left_alone(arrays):
    before = [array.tobytes() for array in arrays]
    fold(arrays)

    assert before == [array.tobytes() for array in arrays]


def test_arrays_that_are_not_contiguous_are_added_right():
    wide = np.arange(_KERNEL_BYTES, dtype=np.float32).reshape(2, -1)

    np.testing.assert_array_equal(wide.T * 3, fold([wide.T, wide.T, wide.T]))


def run(program, **environment):
    """Run a program in a process of its own, because what it tries could end it."""
    return subprocess.run([sys.executable, "-c", program], env={**os.environ, **environment}, check=False).returncode


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


def test_a_forked_process_can_still_add_large_arrays():
    assert 0 == run(LARGE + FORK)


@pytest.mark.parametrize("layer", ["workqueue", "default"])
def test_several_threads_can_add_large_arrays_at_once(layer):
    assert 0 == run(LARGE + THREADS, NUMBA_THREADING_LAYER=layer)
