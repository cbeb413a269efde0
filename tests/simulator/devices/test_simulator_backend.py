"""The simulator without a cluster: what a host does, and nothing on the way that is not needed."""

import pathlib
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

import refdist as tf
import simulator
from refdist._core.backends.host_backend import HostBackend
from simulator.devices.simulator_backend import SimulatorBackend
from simulator.loops.folding import fold
from tests.generators import DTYPES, alike
from tests.thorough import examples

FOLDER = pathlib.Path(simulator.__file__).parent


def files_called(function):
    """The files of the simulator whose functions run during a call."""
    found = set()

    def note(frame, event, _):
        if event == "call":
            found.add(pathlib.Path(frame.f_code.co_filename))

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return {path.name for path in found if path.is_relative_to(FOLDER)}


@pytest.mark.parametrize("shape", [[], [10]])
def test_an_eager_run_with_small_tensors_calls_nothing_in_the_simulator(shape):
    def step():
        return tf.distribute.get_replica_context().all_reduce("sum", tf.ones(shape))

    with tf.using("simulator", gpus=4):
        strategy = tf.distribute.MirroredStrategy()

        assert set() == files_called(lambda: strategy.run(step))


def test_that_the_test_above_can_fail():
    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.MirroredStrategy()
        large = strategy.run(lambda: tf.ones([1 << 16]))

        assert {"simulator_backend.py", "folding.py"} == files_called(lambda: strategy.reduce("sum", large, axis=None))


@given(arrays=alike(), large=generators.booleans())
@settings(max_examples=examples(40, 100))
def test_sums_of_any_size_have_the_bits_of_a_fold(arrays, large):
    if large:
        arrays = [np.tile(array.reshape(-1), 1 << 14) for array in arrays if array.size] or [np.ones(1 << 17)] * 3
    for backend in (HostBackend(), SimulatorBackend()):
        total = backend.fold(arrays)

        assert arrays[0].dtype == total.dtype
        assert fold(arrays).tobytes() == total.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_sum_shares_no_memory_with_its_tensors(dtype):
    for shape in ((), (3,), (1 << 18,)):
        for count in (1, 2, 3):
            arrays = [np.ones(shape, dtype)] * count

            assert not any(np.may_share_memory(array, HostBackend().fold(arrays)) for array in arrays)
