"""The contract of the seam, run against every backend."""

import pytest

from refdist._core.backends.host_backend import HostBackend
from refdist._core.backends.jax_backend import JaxBackend
from refdist._core.devices.device import Device
from simulator.algorithms.collective_values import value_on
from simulator.algorithms.schedules import ring
from simulator.devices.cluster_backend import ClusterBackend
from simulator.devices.open_simulator import open_simulator
from simulator.devices.simulator_backend import SimulatorBackend
from simulator.machines.topology import Cluster, DeviceKind
from tests.backend_contract import BackendContract
from tests.capability_contracts import (
    ClusteredContract,
    CommitsContract,
    CompilesContract,
    LogicalDevicesContract,
    SpreadsContract,
    TimedContract,
)

CLUSTER = Cluster.star(8, 1e9, 1e-6, DeviceKind("TPU", 1e9, 1e12, 1e12))


class TestHost(LogicalDevicesContract, ClusteredContract, CompilesContract, SpreadsContract, BackendContract):
    backend = HostBackend(gpus=8, tpus=8)

    def fresh(self):
        return HostBackend(gpus=8, tpus=8)


class TestSimulator(LogicalDevicesContract, ClusteredContract, CompilesContract, SpreadsContract, BackendContract):
    backend = open_simulator(gpus=8, tpus=16)

    def fresh(self):
        return open_simulator(gpus=8, tpus=16)

    def test_without_a_cluster_nothing_is_added_to_what_a_host_does(self):
        own = {name for name in vars(SimulatorBackend) if not name.startswith("_")}

        assert {"name", "fold_large"} == own


class TestCluster(
    LogicalDevicesContract, ClusteredContract, CompilesContract, SpreadsContract, TimedContract, BackendContract
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


class TestJaxWithGpusThatAreCpus(
    LogicalDevicesContract, ClusteredContract, CompilesContract, CommitsContract, BackendContract
):
    backend = JaxBackend(cpus=2, gpus=6)

    def fresh(self):
        return JaxBackend(cpus=2, gpus=6)
