"""The contract of the seam, run against every backend."""

import numpy as np
import pytest

from refdist._core.backends.host_backend import HostBackend
from refdist._core.backends.jax_backend import JaxBackend
from refdist._core.devices.device import Device
from simulator.simulator_backend import SimulatorBackend
from tests.backend_contract import BackendContract


class TestHost(BackendContract):
    backend = HostBackend(gpus=8, tpus=8)


class TestSimulator(BackendContract):
    backend = SimulatorBackend(gpus=8, tpus=16)


class TestJax(BackendContract):
    backend = JaxBackend(cpus=8)

    def test_more_devices_than_jax_started_with_are_refused(self):
        with pytest.raises(RuntimeError, match="already started"):
            JaxBackend(cpus=64)

    def test_tasks_are_spread_over_the_devices_of_this_machine(self):
        connected = JaxBackend(cpus=4)
        tasks = [Device(f"/job:ps/task:{index}/device:CPU:0") for index in range(6)]
        connected.connect(tasks)
        places = [connected.device_of(connected.put(np.ones(1), task)).short for task in tasks]

        assert ["CPU:0", "CPU:1", "CPU:2", "CPU:3", "CPU:0", "CPU:1"] == places

    def test_an_array_that_somebody_else_spread_has_no_device(self):
        import jax
        from jax.sharding import Mesh, NamedSharding, PartitionSpec

        sharding = NamedSharding(Mesh(jax.devices()[:2], "x"), PartitionSpec("x"))
        with pytest.raises(ValueError, match="lies on"):
            JaxBackend(cpus=8).device_of(jax.device_put(jax.numpy.ones(2), sharding))

    def test_the_compiler_is_asked_for_the_layout_where_the_mesh_has_axes_for_it(self):
        import jax
        from jax.sharding import AxisType, Mesh

        types = (AxisType.Auto,) * 2
        with jax.sharding.set_mesh(Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("l0", "l1"), axis_types=types)):
            step = jax.jit(lambda x: self.backend.lay_out(x + 1, self.devices[:4], [2, 1, 2]))
            result = step(np.zeros((2, 3, 4), np.float32))

        assert {(1, 3, 2)} == {shard.data.shape for shard in result.addressable_shards}
        assert result.sum() == 24

    def test_text_is_refused_because_jax_has_no_strings(self):
        with pytest.raises(TypeError, match="text"):
            self.backend.put("abc", None)

    @pytest.mark.parametrize("cpus", [0, -1, "2", True])
    def test_a_count_that_is_none_is_refused(self, cpus):
        with pytest.raises(ValueError, match="cpus"):
            JaxBackend(cpus=cpus)
