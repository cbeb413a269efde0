"""What every backend must do, and what it must do for each capability; `tests/test_backends.py` runs it against each."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

from refdist._core.base.enums import ReduceOp
from refdist._core.devices.device import Device
from refdist._core.seam.capabilities import (
    Clustered,
    Commits,
    Compiles,
    LogicalDevices,
    Spreads,
    Timed,
    capability,
    required,
)
from tests.capability_contracts import (
    ClusteredContract,
    CommitsContract,
    CompilesContract,
    LogicalDevicesContract,
    SpreadsContract,
    TimedContract,
)
from tests.generators import alike, values

CONTRACTS = {
    Clustered: ClusteredContract,
    Commits: CommitsContract,
    Compiles: CompilesContract,
    LogicalDevices: LogicalDevicesContract,
    Spreads: SpreadsContract,
    Timed: TimedContract,
}


class BackendContract:
    """The eight verbs; a subclass provides `backend`, and is also a subclass of the contract of each of its capabilities."""

    backend = None

    @property
    def devices(self):
        return self.backend.devices()

    def expected_sum(self, arrays):
        """The sum of arrays that lie on different devices: in their order, each addition rounded."""
        total = arrays[0].copy()
        for array in arrays[1:]:
            total = (total + array).astype(array.dtype)
        return total

    @pytest.mark.parametrize("kind", CONTRACTS)
    def test_a_capability_is_kept_to_or_said_to_be_missing(self, kind):
        if isinstance(self, CONTRACTS[kind]):
            assert self.backend is capability(self.backend, kind) is required(self.backend, kind, "The test")
            return
        assert capability(self.backend, kind) is None
        with pytest.raises(
            NotImplementedError,
            match=rf"The test was asked of .*{self.backend.name}.* {kind.__name__}; expected .*\. Choose another",
        ):
            required(self.backend, kind, "The test")

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

    @pytest.mark.parametrize("dtype", ["bool", "int32", "float16", "bfloat16", "float32"])
    def test_a_tensor_keeps_shape_and_dtype(self, dtype):
        import refdist

        array = np.ones((2, 0, 3)).astype(getattr(refdist, dtype))
        tensor = self.backend.put(array, self.devices[1])

        assert ((2, 0, 3), array.dtype) == (tensor.shape, tensor.dtype)
        assert ((2, 0, 3), array.dtype) == (self.backend.get(tensor).shape, self.backend.get(tensor).dtype)

    def test_what_nobody_places_lies_on_the_host(self):
        assert self.devices[0] == self.backend.device_of(self.backend.put(np.float32(1), None))

    def test_a_tensor_does_not_follow_changes_of_the_array_it_was_made_of(self):
        array = np.ones(3, np.float32)
        tensor = self.backend.put(array, self.devices[0])
        array[:] = 9
        self.backend.get(tensor)[:] = 9

        assert [1, 1, 1] == self.backend.get(tensor).tolist()

    def test_a_tensor_does_not_follow_the_base_of_a_read_only_view(self):
        base = np.ones((2, 3), np.float32)
        base_of_base = np.broadcast_to(base, (2, 2, 3))
        view = base[1:]
        view.flags.writeable = False
        tensors = [self.backend.put(array, self.devices[0]) for array in (view, base_of_base, view[0])]
        base[:] = 9

        assert [{1.0}] * 3 == [set(self.backend.get(tensor).ravel().tolist()) for tensor in tensors]

    def test_a_copy_lies_on_the_other_device_and_is_equal(self):
        tensor = self.backend.put(np.arange(4, dtype=np.int32), self.devices[1])
        copy = self.backend.copy(tensor, self.devices[2])

        assert self.devices[2] == self.backend.device_of(copy)
        assert self.devices[1] == self.backend.device_of(tensor)
        assert [0, 1, 2, 3] == self.backend.get(copy).tolist()

    @given(arrays=alike(dtype=np.dtype("float32")))
    @settings(max_examples=25)
    def test_a_sum_is_added_up_in_the_order_of_the_tensors(self, arrays):
        expected = self.expected_sum(arrays)
        results = self.backend.reduce(self.tensors(arrays), ReduceOp.SUM, self.devices[: len(arrays)], "ring")

        for result in results:
            assert expected.dtype == result.dtype
            np.testing.assert_array_equal(expected, self.backend.get(result))

    def test_an_overflow_is_silent_as_on_a_device(self):
        for shape in ((), (1,), (1 << 17,)):
            arrays = [np.full(shape, 6e4, np.float16)] * 2
            (result,) = self.backend.reduce(self.tensors(arrays), ReduceOp.SUM, self.devices[:1], "ring")

            assert np.isinf(self.backend.get(result)).all()

    def test_the_sum_of_one_tensor_is_another_tensor(self):
        (tensor,) = self.tensors([np.float32([1, 2])])
        (result,) = self.backend.reduce([tensor], ReduceOp.SUM, self.devices[1:2], "ring")

        assert [1, 2] == self.backend.get(result).tolist()
        assert self.devices[1] == self.backend.device_of(result)

    def test_a_mean_of_integers_is_a_float(self):
        (result,) = self.backend.reduce(
            self.tensors([np.int32(1), np.int32(2)]), ReduceOp.MEAN, self.devices[:1], "ring"
        )

        assert 1.5 == self.backend.get(result)
        assert result.dtype.kind == "f"

    def test_a_mean_divides_by_the_real_count_where_the_dtype_has_no_such_number(self):
        import refdist

        values = [np.full(1, 256.0 * (index == 0), refdist.bfloat16) for index in range(257)]
        tensors = [self.backend.put(value, self.devices[0]) for value in values]
        (result,) = self.backend.reduce(tensors, ReduceOp.MEAN, self.devices[:1], "ring")

        # bfloat16 has 256, but not 257.
        assert np.asarray(256 / 257).astype(refdist.bfloat16) == self.backend.get(result)[0] != 1

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

        assert list(self.devices[:2]) == [self.backend.device_of(result) for result in results]
        for result in results:
            np.testing.assert_array_equal(np.concatenate(arrays), self.backend.get(result))

    def test_gathering_joins_along_any_axis(self):
        arrays = [np.full((2, 1), index, np.int32) for index in range(3)]
        (result,) = self.backend.gather(self.tensors(arrays), 1, self.devices[:1])

        assert [[0, 1, 2], [0, 1, 2]] == self.backend.get(result).tolist()

    def test_on_can_be_entered_and_left_for_every_device(self):
        for device in (*self.devices[:3], None):
            with self.backend.on(device):
                assert self.backend.put(np.float32(1), device) == 1

    def tensors(self, arrays):
        """Arrays as tensors of different devices, as far as there are so many; the host comes last."""
        order = [*self.devices[1:], self.devices[0]]
        return [self.backend.put(array, order[index % len(order)]) for index, array in enumerate(arrays)]
