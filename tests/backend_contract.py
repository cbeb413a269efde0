"""What every backend must do; `tests/test_backends.py` runs it against each."""

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

from refdist._core.base.enums import ReduceOp
from refdist._core.devices.device import Device
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

        for result in results:
            np.testing.assert_array_equal(np.concatenate(arrays), self.backend.get(result))

    def test_the_tpu_mesh_has_four_dimensions_and_each_core_once(self):
        mesh = self.backend.tpu_mesh()

        assert mesh.ndim == 4
        assert len(set(mesh.flat)) == mesh.size > 1
        assert set(mesh.flat) <= set(self.devices)

    @given(sizes=generators.lists(generators.integers(1, 3), min_size=3, max_size=3))
    @settings(max_examples=10)
    def test_pieces_lie_in_order_on_their_devices_and_make_up_the_whole(self, sizes):
        devices, partition = self.devices[1:5], [2, 1, 2]
        array = np.arange(4 * np.prod(sizes), dtype=np.float32).reshape([2 * sizes[0], sizes[1], 2 * sizes[2]])
        tensor = self.backend.lay_out(self.backend.put(array, self.devices[0]), devices, partition)

        pieces = self.backend.pieces(tensor)
        assert list(devices) == [device for device, _ in pieces]
        rows = [np.concatenate([piece for _, piece in pieces[i : i + 2]], axis=2) for i in (0, 2)]
        np.testing.assert_array_equal(array, np.concatenate(rows, axis=0))
        np.testing.assert_array_equal(array, self.backend.get(tensor))
        assert devices[0] == self.backend.device_of(tensor)

    def test_a_whole_tensor_lies_on_each_device_or_on_one(self):
        tensor = self.backend.put(np.float32([1, 2]), self.devices[0])
        for devices in (self.devices[:4], self.devices[3:4]):
            for result in (laid := self.backend.lay_out(tensor, devices, None), laid * 2):
                pieces = self.backend.pieces(result)

                assert list(devices) == [device for device, _ in pieces]
                assert all(np.array_equal(self.backend.get(result), piece) for _, piece in pieces)

    def test_a_tensor_without_a_layout_is_one_piece(self):
        ((device, piece),) = self.backend.pieces(self.backend.put(np.float32([1, 2]), self.devices[2]))

        assert (self.devices[2], [1, 2]) == (device, piece.tolist())

    def test_a_tensor_that_is_laid_out_can_be_copied_and_reduced(self):
        laid = [self.backend.lay_out(t, self.devices[:2], [2]) for t in self.tensors([np.float32([1, 2])] * 3)]
        (total,) = self.backend.reduce(laid, ReduceOp.SUM, self.devices[3:4], "ring")

        assert [3, 6] == self.backend.get(total).tolist()
        assert self.devices[3] == self.backend.device_of(total)
        assert self.devices[2] == self.backend.device_of(self.backend.copy(laid[0], self.devices[2]))

    def test_what_is_being_traced_is_laid_out_without_a_change_of_value(self):
        import jax

        def step(x):
            return self.backend.lay_out(x, self.devices[:2], [2]) + self.backend.lay_out(x, self.devices[:2], None)

        assert [2, 4] == jax.jit(step)(np.float32([1, 2])).tolist()

    def test_devices_of_other_tasks_take_tensors_too(self):
        tasks = [Device(f"/job:ps/task:{index}/device:CPU:0") for index in range(9)]
        connected = copy.deepcopy(self.backend) if self.backend.name != "jax" else type(self.backend)(cpus=8)
        for _ in range(2):
            connected.connect(tasks)

        assert (*self.devices, *tasks) == connected.devices()
        assert [2.0] * 9 == [float(connected.put(np.float32(2.0), task)) for task in tasks]
        assert [device.short for device in self.devices if device.beside(self.devices[0])] == [
            device.short for device in connected.for_task("worker", 0, 1).devices()
        ]

    def test_on_can_be_entered_and_left_for_every_device(self):
        for device in (*self.devices[:3], None):
            with self.backend.on(device):
                assert self.backend.put(np.float32(1), device) == 1

    def tensors(self, arrays):
        return [self.backend.put(array, self.devices[index % len(self.devices)]) for index, array in enumerate(arrays)]

    def reduce(self, arrays, op):
        return self.backend.reduce(self.tensors(arrays), op, self.devices[: len(arrays)], "ring")
