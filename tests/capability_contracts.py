"""What a backend must do that has a capability: one contract for each, mixed into the tests of the backends that have it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

import refdist as tf
from refdist._core.base.enums import ReduceOp
from refdist._core.base.where import entered
from refdist._core.compilers.costs import cost_of
from refdist._core.devices.device import Device


class LogicalDevicesContract:
    """TPU cores, and tensors that lie on several of them."""

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


class ClusteredContract:
    """The tasks of a cluster in one process; a subclass provides `fresh`, which makes a backend like the one under test."""

    def test_a_task_has_devices_of_its_own_name(self):
        tasks = [self.fresh().for_task("worker", index, 2) for index in range(2)]

        for index, task in enumerate(tasks):
            devices = task.devices()
            assert {("worker", index)} == {(device.job, device.task) for device in devices}
            assert len(set(devices)) == len(devices)
            assert devices[-1] == task.device_of(task.put(np.float32(1), devices[-1]))
            assert devices[0] == task.device_of(task.put(np.float32(1), None))

    def test_the_backend_itself_keeps_its_devices(self):
        backend = self.fresh()
        before = backend.devices()
        backend.for_task("worker", 1, 2)

        assert before == backend.devices()

    def test_tasks_of_one_process_add_up_what_each_of_them_brings(self):
        backend = self.fresh()
        tasks = [backend.for_task("worker", index, 2) for index in range(2)]
        tensors = [task.put(np.float32([index + 1]), task.devices()[-1]) for index, task in enumerate(tasks)]

        for task in tasks:
            (total,) = task.reduce(tensors, ReduceOp.SUM, task.devices()[-1:], "ring")
            assert [3] == task.get(total).tolist()

    @pytest.mark.parametrize("number", [0, 3])
    def test_a_task_that_runs_alone_adds_up_what_it_has(self, number):
        task = self.fresh().for_task("worker", number, 1)
        tensors = [task.put(np.float32([1]), device) for device in task.devices()[-2:]]
        (total,) = task.reduce(tensors, ReduceOp.SUM, task.devices()[-1:], "ring")

        assert [2] == task.get(total).tolist()

    def test_devices_of_other_tasks_take_tensors_too(self):
        tasks = [Device(f"/job:ps/task:{index}/device:CPU:0") for index in range(9)]
        connected = self.fresh()
        for _ in range(2):
            connected.connect(tasks)

        assert (*self.devices, *tasks) == connected.devices()
        assert [2.0] * 9 == [float(connected.put(np.float32(2.0), task)) for task in tasks]
        assert [device.short for device in self.devices if device.beside(self.devices[0])] == [
            device.short for device in connected.for_task("worker", 0, 1).devices()
        ]


class TimedContract:
    """Virtual time; a subclass provides `now`, the seconds that have passed."""

    def taken(self, function):
        before = self.now()
        function()
        return self.now() - before

    def test_what_devices_exchange_takes_time(self):
        tensors = self.tensors([np.ones(1000, np.float32)] * 3)

        assert 0 < self.taken(lambda: self.backend.copy(tensors[0], self.devices[2]))
        assert 0 < self.taken(lambda: self.backend.reduce(tensors, ReduceOp.SUM, self.devices[1:4], "ring"))
        assert 0 < self.taken(lambda: self.backend.gather(tensors, 0, self.devices[1:4]))

    def test_what_a_device_computes_takes_time_where_it_is_entered(self):
        def compute():
            with self.backend.on(self.devices[1]):
                jnp.ones((64, 64)) @ jnp.ones((64, 64))

        assert 0 < self.taken(compute)

    def test_a_step_takes_no_time_by_itself(self):
        def step(devices):
            with self.backend.step(devices):
                pass

        for devices in (self.devices[1:3], self.devices[:1], ()):
            assert 0 == self.taken(lambda devices=devices: step(devices))

    def test_devices_in_unison_get_a_tensor_sooner_than_one_after_the_other(self):
        (tensor,) = self.tensors([np.ones(1 << 20, np.float32)])
        copies = []

        def in_unison():
            with self.backend.in_unison(self.devices[1:], tensor):
                copies.extend(self.backend.copy(tensor, device) for device in self.devices[1:])

        def one_by_one():
            for device in self.devices[1:]:
                self.backend.copy(tensor, device)

        assert 0 < self.taken(in_unison) < self.taken(one_by_one)
        assert list(self.devices[1:]) == [self.backend.device_of(copy) for copy in copies]
        assert all(1 == self.backend.get(copy).min() == self.backend.get(copy).max() for copy in copies)

    def test_nobody_in_unison_needs_what_comes_from_the_host(self):
        def enter(given):
            with self.backend.in_unison(self.devices[1:], given):
                pass

        assert 0 == self.taken(lambda: enter(np.ones(1000)))
        assert 0 == self.taken(lambda: enter(None))

    def test_each_run_of_a_program_takes_its_time(self):
        cost = cost_of(jax.make_jaxpr(lambda x: x @ x)(np.ones((64, 64), np.float32)).jaxpr)
        charged = self.backend.charge_program(self.devices[1:3], cost, "ring")

        def run():
            with charged(list):
                pass

        first, second = self.taken(run), self.taken(run)
        assert 0 < first
        assert first == pytest.approx(second)

    def test_a_program_on_the_host_takes_none(self):
        cost = cost_of(jax.make_jaxpr(lambda x: x @ x)(np.ones((64, 64), np.float32)).jaxpr)

        assert self.backend.charge_program(self.devices[:1], cost, "ring") is None

    def test_a_tensor_that_is_claimed_is_one_of_the_backend(self):
        from refdist._core.devices.tensor import make

        tensor = self.backend.claimed(make(np.ones(1000, np.float32), self.devices[1]))
        self.backend.let_go(np.ones(1))  # which nobody holds

        assert isinstance(tensor, self.backend.tensor_type)
        assert self.devices[1] == self.backend.device_of(tensor)
        assert 0 < self.taken(lambda: self.backend.copy(tensor, self.devices[2]))
        assert 0 < self.taken(lambda: tensor * 2)


class SpreadsContract:
    """Copies of one tensor on many devices."""

    def test_a_tensor_that_is_spread_is_copied_to_each_device(self):
        (tensor,) = self.tensors([np.float32([1, 2])])

        spread = self.backend.spread(tensor, self.devices[1:])

        copies = [self.backend.copy(tensor, device) for device in self.devices[1:]]
        assert list(map(type, copies)) == list(map(type, spread))
        assert list(self.devices[1:]) == list(map(self.backend.device_of, spread))
        assert [[1, 2]] * len(copies) == [self.backend.get(one).tolist() for one in spread]

    def test_what_was_spread_can_no_longer_be_changed(self):
        (tensor,) = self.tensors([np.float32([1, 2])])
        total = tensor + tensor
        self.backend.spread(total, self.devices[1:])

        with pytest.raises((TypeError, ValueError), match=r"read-only|immutable"):
            np.add(total, 1, out=total)


class CommitsContract:
    """Tensors that stay on their device, unless they are loosened."""

    def test_a_loosened_tensor_can_be_used_beside_any_other(self):
        first, second = self.tensors([np.float32([1, 2]), np.float32([3, 4])])
        with pytest.raises(ValueError, match="incompatible devices"):
            first + second

        result = self.backend.loosened(first) + second

        assert [4, 6] == self.backend.get(result).tolist()
        assert self.backend.device_of(second) == self.backend.device_of(result)

    def test_what_is_no_tensor_stays_itself(self):
        for value in (1, "text", None, np.ones(2)):
            assert value is self.backend.loosened(value)


class CompilesContract:
    """Programs over all replicas."""

    def strategy(self):
        return tf.distribute.MirroredStrategy([str(device) for device in self.devices[1:3]])

    def test_a_compiler_knows_the_replicas_of_the_plan(self):
        with entered(backend=self.backend):
            plan = self.strategy().extended.plan

        compiler = self.backend.compiler(plan)
        assert (2, tuple(self.devices[1:3])) == (compiler.count, tuple(compiler.devices))

    def test_a_program_gives_what_the_same_code_gives_in_python(self):
        def step(x):
            return tf.distribute.get_replica_context().all_reduce("sum", x * 2)

        with entered(backend=self.backend):
            strategy = self.strategy()
            x = strategy.experimental_distribute_values_from_function(
                lambda context: tf.constant([1.0 + context.replica_id_in_sync_group])
            )
            for run in (step, tf.function(step)):
                for part in strategy.experimental_local_results(strategy.run(run, args=(x,))):
                    assert [6] == np.asarray(part).tolist()
