"""What every backend must do; `tests/test_backends.py` runs it against each."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

from refdist.device import Device
from refdist.enums import ReduceOp
from tests.generators import alike, values


class BackendContract:
    """One suite for all implementations of the seam; a subclass provides `backend` and `devices`."""

    backend = None
    exact_order = True

    @property
    def devices(self):
        return self.backend.devices()

    def test_it_has_a_host_first_and_every_device_once(self):
        assert self.devices[0].kind == "CPU"
        assert len(set(self.devices)) == len(self.devices)
        assert all(isinstance(device, Device) for device in self.devices)

    @given(array=values(np.dtype("float32")))
    @settings(max_examples=20)
    def test_what_is_put_comes_back_from_the_device(self, array):
        for device in self.devices[:3]:
            tensor = self.backend.put(array, device)

            assert isinstance(tensor, self.backend.tensor_type)
            assert device == self.backend.device_of(tensor)
            np.testing.assert_array_equal(array, self.backend.get(tensor))

    def test_a_tensor_does_not_follow_changes_of_the_array_it_was_made_of(self):
        array = np.ones(3, np.float32)
        tensor = self.backend.put(array, self.devices[0])
        array[:] = 9
        self.backend.get(tensor)[:] = 9

        assert [1, 1, 1] == self.backend.get(tensor).tolist()

    def test_a_copy_lies_on_the_other_device_and_is_equal(self):
        tensor = self.backend.put(np.arange(4, dtype=np.int32), self.devices[1])
        copy = self.backend.copy(tensor, self.devices[2])

        assert self.devices[2] == self.backend.device_of(copy)
        assert self.devices[1] == self.backend.device_of(tensor)
        assert [0, 1, 2, 3] == self.backend.get(copy).tolist()

    @given(arrays=alike(dtype=np.dtype("float32")))
    @settings(max_examples=25)
    def test_a_sum_is_folded_in_the_order_of_the_tensors(self, arrays):
        expected = arrays[0].copy()
        for array in arrays[1:]:
            expected = (expected + array).astype(array.dtype)

        results = self.reduce(arrays, ReduceOp.SUM)

        for result in results:
            assert expected.dtype == result.dtype
            np.testing.assert_array_equal(expected, self.backend.get(result))

    def test_a_mean_of_integers_is_a_float(self):
        (result,) = self.backend.reduce(
            self.tensors([np.int32(1), np.int32(2)]), ReduceOp.MEAN, self.devices[:1], "ring"
        )

        assert 1.5 == self.backend.get(result)
        assert result.dtype.kind == "f"

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
    def test_a_mean_keeps_a_floating_dtype(self, dtype):
        import refdist

        arrays = [np.array([1, 3]).astype(getattr(refdist, dtype)), np.array([2, 5]).astype(getattr(refdist, dtype))]
        (result,) = self.backend.reduce(self.tensors(arrays), ReduceOp.MEAN, self.devices[:1], "ring")

        assert getattr(refdist, dtype) == result.dtype
        assert [1.5, 4.0] == self.backend.get(result).astype(float).tolist()

    def test_the_result_lies_on_each_destination(self):
        for destinations in (self.devices[:1], self.devices[1:4], self.devices[:8]):
            results = self.backend.reduce(self.tensors([np.float32(1)] * 3), ReduceOp.SUM, destinations, "ring")

            assert list(destinations) == [self.backend.device_of(result) for result in results]

    @given(sizes=generators.lists(generators.integers(0, 3), min_size=1, max_size=6))
    @settings(max_examples=20)
    def test_gathering_joins_in_order_and_takes_uneven_parts(self, sizes):
        arrays = [np.full((size, 2), index, np.float32) for index, size in enumerate(sizes)]
        results = self.backend.gather(self.tensors(arrays), 0, self.devices[:2])

        for result in results:
            np.testing.assert_array_equal(np.concatenate(arrays), self.backend.get(result))

    def test_on_can_be_entered_and_left_for_every_device(self):
        for device in (*self.devices[:3], None):
            with self.backend.on(device):
                assert self.backend.put(np.float32(1), device) == 1

    def test_no_trace_is_open_outside_of_traces_and_one_inside(self):
        import jax

        seen = []
        jax.grad(lambda x: (seen.append(self.backend.tracing()), x * x)[1])(1.0)

        assert seen == [True]
        assert not self.backend.tracing()

    def tensors(self, arrays):
        return [self.backend.put(array, self.devices[index % len(self.devices)]) for index, array in enumerate(arrays)]

    def reduce(self, arrays, op):
        return self.backend.reduce(self.tensors(arrays), op, self.devices[: len(arrays)], "ring")
