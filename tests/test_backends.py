"""The contract of the seam, run against every backend."""

import numpy as np
import pytest

from refdist._core.backends.host_backend import HostBackend
from refdist._core.backends.jax_backend import JaxBackend
from refdist._core.devices.device import Device
from simulator.cluster_backend import ClusterBackend
from simulator.collective_values import value_on
from simulator.open_simulator import open_simulator
from simulator.schedules import ring
from simulator.simulator_backend import SimulatorBackend
from simulator.topology import Cluster, DeviceKind
from tests.backend_contract import BackendContract
from tests.capability_contracts import (
    ClusteredContract,
    CommitsContract,
    CompilesContract,
    KeepsLedgerContract,
    LogicalDevicesContract,
    TimedContract,
)

CLUSTER = Cluster.star(8, 1e9, 1e-6, DeviceKind("TPU", 1e9, 1e12, 1e12))


class TestHost(LogicalDevicesContract, ClusteredContract, CompilesContract, BackendContract):
    backend = HostBackend(gpus=8, tpus=8)

    def fresh(self):
        return HostBackend(gpus=8, tpus=8)


class TestSimulator(LogicalDevicesContract, ClusteredContract, CompilesContract, KeepsLedgerContract, BackendContract):
    backend = open_simulator(gpus=8, tpus=16)

    def fresh(self):
        return open_simulator(gpus=8, tpus=16)

    def test_without_a_cluster_nothing_is_added_to_what_a_host_does(self):
        own = {name for name in vars(SimulatorBackend) if not name.startswith("_")}

        assert {"name", "ledger_in_use", "fold_large"} == own


class TestCluster(
    LogicalDevicesContract, ClusteredContract, CompilesContract, KeepsLedgerContract, TimedContract, BackendContract
):
    backend = open_simulator(cluster=CLUSTER)

    def fresh(self):
        return open_simulator(cluster=CLUSTER)

    def now(self):
        return self.backend.clock.now()

    def expected_sum(self, arrays):
        exchanged = 2 <= len(arrays) <= 8  # the ninth lies on the host, to which no link leads
        return value_on(ring(len(arrays)), arrays) if exchanged else super().expected_sum(arrays)

    def test_devices_of_other_tasks_take_tensors_too(self):
        with pytest.raises(ValueError, match=r"such as /job:ps.*; expected one without.*\. Choose"):
            self.fresh().connect([Device("/job:ps/task:0/device:CPU:0")])

    def test_a_cluster_opens_the_backend_that_keeps_time(self):
        assert ClusterBackend is type(self.backend)


class TestJax(LogicalDevicesContract, ClusteredContract, CompilesContract, CommitsContract, BackendContract):
    backend = JaxBackend(cpus=8)

    def fresh(self):
        return JaxBackend(cpus=8)

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
